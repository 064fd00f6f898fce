import { Command, Option } from "commander";
import { listedStatuses } from "../../core/run/listed-statuses.ts";
import type { RunRow } from "../../core/store/tables.ts";
import { colouredState } from "../coloured-state.ts";
import { helpExample, type Invocation, invalidInput, parsePositiveNumber } from "../invocation.ts";
import { line, type SafeLine, tableLines } from "../safe-line.ts";
import type { TextStyle } from "../text-style.ts";
import { timeText } from "../time-text.ts";
import { otherTenantLines, withEngine } from "../with-engine.ts";

interface RunsOptions {
  readonly status?: string;
  readonly project?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly tool?: string;
  readonly label?: string;
  readonly parent?: string;
  readonly by?: string;
  readonly waitingFor?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
  readonly after?: string;
  readonly count?: boolean;
}

export function runsCommand(invocation: Invocation): Command {
  const command = new Command("runs")
    .description("list the runs, newest first")
    .addOption(new Option("--status <status>", "only runs with this status").choices(listedStatuses))
    .option("--project <project>", "only runs of this project")
    .option("--session <session>", "only runs of this session")
    .option("--agent <name>", "only sessions of this agent")
    .option("--tool <tool>", "only runs that use this tool")
    .option("--label <label>", "only runs with this label")
    .option("--parent <run>", "only child runs of this run")
    .option("--by <principal>", "only runs that this principal submitted")
    .option("--waiting-for <what>", "only runs that wait for this: approval, resolution, signal, tool, …")
    .option("--from <time>", "only runs accepted at or after this time, such as 2025-11-15 or 2025-11-15T10:00:00Z")
    .option("--to <time>", "only runs accepted before this time")
    .option("--count", "also print how many runs there are")
    .option("--limit <n>", "maximum number of runs", parsePositiveNumber, 50)
    .option("--after <cursor>", "continue after an earlier page: its cursor, `next`")
    .addHelpText(
      "after",
      helpExample("writ runs", "writ runs --status waiting --limit 10", "writ runs --label urgent"),
    );
  return invocation.withAction<RunsOptions>(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
      const { engine, person } = opened;
      const { status } = options;
      const runs = await engine.runs({ principal: person, ...runFilter(options) });
      const { next, count } = runs;
      invocation.terminal.printResult({ runs, next, ...(count !== null && { count }) }, () => {
        const counted = count === null ? [] : [line`${count} runs`];
        if (runs.length === 0)
          return [
            line`no ${status ?? ""}${status === undefined ? "" : " "}runs in tenant ${person.tenant}`,
            ...counted,
            ...otherTenantLines(opened),
          ];
        const { style } = invocation.terminal;
        const more = next === null ? [] : [line`more: --after ${next}`];
        return [...tableLines(runs.map((run) => runColumns(run, style))), ...counted, ...more];
      });
      return 0;
    }),
  );
}

function runColumns(run: RunRow, style: TextStyle): readonly SafeLine[] {
  const waits = run.waiting_for === undefined ? "" : ` for ${run.waiting_for.join(", ")}`;
  return [
    line`${run.run_id}`,
    line`${colouredState(run.status, style)}${waits}`,
    line`${timeText(run.accepted_at, style)}`,
    line`${run.principal}`,
    line`${run.title ?? run.plan_id ?? run.session ?? ""}`,
    line`${(run.labels ?? []).join(", ")}`,
  ];
}

/** Returns the options of the command as the filter of the list. */
function runFilter(options: RunsOptions): object {
  const { status, project, session, agent, tool, label, parent, by, waitingFor, limit, after, count } = options;
  const times = { from: readTime("--from", options.from), to: readTime("--to", options.to) };
  const filter = {
    status,
    project,
    session,
    agent,
    tool,
    label,
    parent,
    by,
    waitingFor,
    limit,
    after,
    count,
    ...times,
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw invalidInput(`${option} must be a time, such as 2025-11-15 or 2025-11-15T10:00:00Z`);
  return at;
}
