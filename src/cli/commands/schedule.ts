import { Command, Option } from "commander";
import { type Mode, modes } from "../../core/effect.ts";
import type { ScheduleRow } from "../../core/rows.ts";
import type { ScheduleOptions as Terms } from "../../engine/api.ts";
import { example, type Invocation, integer, invalid } from "../invocation.ts";
import { readContext, readPlanFile } from "../json-file.ts";
import { type Line, line, tableLines } from "../line.ts";
import { type Opened, opened } from "../opening.ts";
import { timeText } from "../result-text.ts";

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
    .description("have a plan run again and again, as the config's principal, by whichever worker is there")
    .argument("<name>", "what you call the schedule")
    .argument("[plan]", "a file with the plan, as JSON")
    .option("--cron <fields>", "minute, hour, day of the month, month and weekday")
    .option("--zone <zone>", "whose clocks they are of (default: UTC)")
    .addOption(
      new Option("--catch-up <which>", "what is made up for when no worker was there (default: latest)").choices([
        "all",
        "latest",
        "none",
      ]),
    )
    .option("--context <json|file>", "values for the placeholders of idempotency templates")
    .option("--queue <name>", "only workers that serve it submit and run it (default: default)")
    .option("--priority <n>", "of a tenant's runs, the highest is taken up first (default: 0)", integer)
    .addOption(new Option("--mode <mode>", "how far each run may go by itself").choices(modes))
    .option("--pause", "run nothing until it is resumed")
    .option("--resume", "go on with what comes next")
    .option("--remove", "forget it; what was run stays on the record")
    .addHelpText(
      "after",
      example(
        `writ schedule digest plan.json --cron "30 9 * * mon-fri" --zone Europe/Berlin`,
        "writ schedule digest --pause",
      ),
    );
  return invocation.does<ScheduleOptions>(command, async ([name = "", path], options) => {
    const terms = Object.keys(options).some((name) => termNames.includes(name));
    const asked = (["pause", "resume", "remove"] as const).filter((wish) => options[wish]);
    const [wish, another] = asked;
    if (another !== undefined || (wish === undefined) !== (path !== undefined) || (wish !== undefined && terms))
      throw invalid("give either a plan and --cron, or one of --pause, --resume and --remove");
    if (wish !== undefined) {
      return opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
        await engine.schedules[wish](name, { principal: person });
        invocation.terminal.answer({ schedule: name, done: wish }, () => [line`schedule ${name}: ${said[wish]}`]);
        return 0;
      });
    }
    const plan = await readPlanFile(path ?? "", invocation.host.cwd);
    const given = await termsOf(options, invocation.host.cwd);
    return opened(invocation, options, { work: "no", needs: "tools", keeps: true }, (it) =>
      isSet(invocation, it, name, plan, given),
    );
  });
}

const termNames = ["cron", "zone", "catchUp", "context", "mode", "queue", "priority"];

const said = { pause: "paused", resume: "goes on", remove: "is gone" } as const;

async function termsOf(options: ScheduleOptions, cwd: string): Promise<Omit<Terms, "principal">> {
  const { cron, zone, catchUp, context, mode, queue, priority } = options;
  if (cron === undefined) throw invalid(`say when: --cron "30 9 * * mon-fri"`);
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

async function isSet(
  { terminal }: Invocation,
  { engine, proposer }: Opened,
  name: string,
  plan: unknown,
  terms: Omit<Terms, "principal">,
): Promise<0> {
  const row = await engine.schedules.set(name, plan, { ...terms, principal: proposer });
  terminal.answer(row, () => [line`schedule ${name}: next at ${momentText(row)}`]);
  return 0;
}

export function schedulesCommand(invocation: Invocation): Command {
  const command = new Command("schedules")
    .description("list what is run again and again, and what came of it last")
    .addHelpText("after", example("writ schedules", "writ schedules --json"));
  return invocation.does(command, (_, options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const schedules = await engine.schedules.list({ principal: person });
      invocation.terminal.answer({ schedules }, () => {
        if (schedules.length === 0) return [line`no schedules in tenant ${person.tenant}`];
        return tableLines(schedules.map(cells));
      });
      return 0;
    }),
  );
}

function cells(row: ScheduleRow): readonly Line[] {
  const { schedule, cron, zone, last } = row;
  const came =
    last === null ? line`` : last.run_id === null ? line`${last.fault?.message ?? ""}` : line`${last.run_id}`;
  return [line`${schedule}`, line`${cron}`, line`${zone}`, line`${momentText(row)}`, came];
}

function momentText({ status, next_at }: ScheduleRow): string {
  return status === "paused" ? "paused" : next_at === null ? "never" : timeText(next_at);
}
