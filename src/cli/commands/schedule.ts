import { Command, Option } from "commander";
import type { ScheduleRow } from "../../core/store/tables.ts";
import { type Mode, modes } from "../../core/values/effect.ts";
import type { ScheduleOptions as Terms } from "../../engine/api/engine-api.ts";
import { helpExample, type Invocation, invalidInput, parseInteger } from "../invocation.ts";
import { readContext, readPlanFile } from "../json-file.ts";
import { line } from "../safe-line.ts";
import { scheduleTimeText } from "../schedule-time-text.ts";
import { type OpenedEngine, withEngine } from "../with-engine.ts";

interface ScheduleOptions {
  readonly cron?: string;
  readonly zone?: string;
  readonly catchUp?: ScheduleRow["catch_up"];
  readonly context?: string;
  readonly mode?: Mode;
  readonly queue?: string;
  readonly priority?: number;
  readonly pause?: boolean;
  readonly resume?: boolean;
  readonly remove?: boolean;
}

export function scheduleCommand(invocation: Invocation): Command {
  const command = new Command("schedule")
    .description("submit a plan at regular times, as the config's principal, by any worker")
    .argument("<name>", "name of the schedule")
    .argument("[plan]", "JSON file with the plan, or - for stdin")
    .option("--cron <fields>", "minute, hour, day of the month, month and weekday")
    .option("--zone <zone>", "IANA time zone of the fields (default: UTC)")
    .addOption(
      new Option("--catch-up <which>", "missed times to make up after an outage (default: latest)").choices([
        "all",
        "latest",
        "none",
      ]),
    )
    .option("--context <json|file>", "values for the placeholders of idempotency templates")
    .option("--queue <name>", "only workers that serve this queue submit and execute it (default: default)")
    .option("--priority <n>", "runs of a tenant with a higher number start first (default: 0)", parseInteger)
    .addOption(new Option("--mode <mode>", "how far each run may go without a person").choices(modes))
    .option("--pause", "submit nothing until the schedule is resumed")
    .option("--resume", "continue with the next time")
    .option("--remove", "remove the schedule; its runs stay on the record")
    .addHelpText(
      "after",
      helpExample(
        `writ schedule digest plan.json --cron "30 9 * * mon-fri" --zone Europe/Berlin`,
        "writ schedule digest --pause",
      ),
    );
  return invocation.withAction<ScheduleOptions>(command, async ([name = "", path], options) => {
    const hasTerms = Object.keys(options).some((name) => termNames.includes(name));
    const [action, another] = (["pause", "resume", "remove"] as const).filter((name) => options[name]);
    if (another !== undefined || (action === undefined) !== (path !== undefined) || (action !== undefined && hasTerms))
      throw invalidInput("give either a plan and --cron, or one of --pause, --resume and --remove");
    if (action !== undefined) {
      return withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
        await engine.schedules[action](name, { principal: person });
        invocation.terminal.printResult({ schedule: name, done: action }, () => [
          line`schedule ${name}: ${scheduleActionTexts[action]}`,
        ]);
        return 0;
      });
    }
    const plan = await readPlanFile(path ?? "", invocation.host);
    const given = await scheduleTerms(options, invocation.host.cwd);
    return withEngine(invocation, options, { work: "no", needs: "tools", createsStore: true }, (opened) =>
      setSchedule(invocation, opened, name, plan, given),
    );
  });
}

const termNames = ["cron", "zone", "catchUp", "context", "mode", "queue", "priority"];

const scheduleActionTexts = { pause: "paused", resume: "resumed", remove: "removed" } as const;

async function scheduleTerms(options: ScheduleOptions, cwd: string): Promise<Omit<Terms, "principal">> {
  const { cron, zone, catchUp, context, mode, queue, priority } = options;
  if (cron === undefined) throw invalidInput(`give the times: --cron "30 9 * * mon-fri"`);
  return {
    cron,
    ...(zone !== undefined && { zone }),
    ...(catchUp !== undefined && { catchUp }),
    ...(context !== undefined && { context: await readContext(context, cwd) }),
    ...(mode !== undefined && { mode }),
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
  };
}

async function setSchedule(
  { terminal }: Invocation,
  { engine, person, proposer }: OpenedEngine,
  name: string,
  plan: unknown,
  terms: Omit<Terms, "principal">,
): Promise<0> {
  const who = proposer.kind === "person" ? { principal: proposer } : { principal: person, runAs: proposer };
  const row = await engine.schedules.set(name, plan, { ...terms, ...who });
  terminal.printResult(row, () => [line`schedule ${name}: next at ${scheduleTimeText(row, terminal.style)}`]);
  return 0;
}
