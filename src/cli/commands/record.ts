import { Command, InvalidArgumentError } from "commander";
import { FaultError, fault } from "../../core/fault.ts";
import type { Instant } from "../../core/id.ts";
import type { AuditReport, CostReport, SpentOver } from "../../engine/api.ts";
import { example, type Invocation, invalid } from "../invocation.ts";
import { glance, type Line, line, tableLines } from "../line.ts";
import { opened } from "../opening.ts";
import { spentLines, timeText } from "../result-text.ts";

const looking = { work: "no", needs: "store" } as const;

export function auditCommand(invocation: Invocation): Command {
  const command = new Command("audit")
    .description("check that the record is what was written: every hash, and every row against its events")
    .argument("[run]", "one run; all of the tenant if left out")
    .addHelpText("after", example("writ audit", "writ audit run_01k2… --json"));
  return invocation.does(command, ([run], options) =>
    opened(invocation, options, looking, async ({ engine, person }) => {
      const report = await engine.audit({ principal: person, ...(run !== undefined && { runId: run }) });
      if (report.broken.length + report.tallies.length > 0)
        throw new FaultError(
          fault("CHAIN_BROKEN", `the record was changed: ${wrongs(report).join("; ")}; restore it from a backup`, {
            ...report,
            broken: report.broken.map((broken) => ({ ...broken })),
            tallies: report.tallies.map((tally) => ({ ...tally })),
          }),
        );
      const erased = report.erased === 0 ? "" : `, ${report.erased} of them erased by retention`;
      invocation.terminal.answer(report, () => [
        line`${report.events} events of ${report.runs} runs are what was written${erased}`,
      ]);
      return 0;
    }),
  );
}

function wrongs({ broken, tallies }: AuditReport): readonly string[] {
  return [
    ...broken.map(({ run_id, position, what }) => `${run_id} at ${position}: ${what}`),
    ...tallies.map(({ tally, used, charged }) => `the tally ${tally} says ${used}, its events charged ${charged}`),
  ];
}

interface CostOptions {
  readonly period?: string;
  readonly project?: string;
  readonly by?: string;
}

export function costCommand(invocation: Invocation): Command {
  const command = new Command("cost")
    .description("what a run cost; or what was spent in a month by the tenant, or on a day by the proposer")
    .argument("[run]", "one run")
    .option("--period <period>", "a month (2025-11) or a day (2025-11-15), in UTC; default this month")
    .option("--project <name>", "with a month: only what was spent for this project")
    .option("--by <id>", "with a day: whose spending; default who proposes here")
    .addHelpText("after", example("writ cost run_01k2…", "writ cost --period 2025-11"));
  return invocation.does<CostOptions>(command, async ([run], options) => {
    if (run !== undefined && options.period !== undefined)
      throw invalid("a run's cost has no --period; leave one of them out");
    return opened(invocation, options, looking, async ({ engine, store, person, proposer }) => {
      const { terminal } = invocation;
      if (run !== undefined) {
        const report = await engine.cost(run, { principal: person });
        terminal.answer(report, () => costLines(report));
        return 0;
      }
      const period = options.period ?? timeText(store.clock.now()).slice(0, "2025-11".length);
      const { project } = options;
      const by = whose(period, options.by, proposer.id);
      if (by !== null && project !== undefined)
        throw invalid("spending for a project is counted per month; leave the day or --project out");
      const named = { ...(by !== null && { by }), ...(project !== undefined && { project }) };
      const spent = await engine.spent({ principal: person, period, ...named });
      const who = by ?? (project === undefined ? `tenant ${person.tenant}` : `project ${project}`);
      terminal.answer({ ...spent, by, project: project ?? null }, () => spentOverLines(spent, who));
      return 0;
    });
  });
}

/** Money is counted per tenant and month, and per principal and day. */
function whose(period: string, by: string | undefined, proposer: string): string | null {
  if (/^\d{4}-\d\d-\d\d$/.test(period)) return by ?? proposer;
  if (!/^\d{4}-\d\d$/.test(period))
    throw invalid(`--period ${period} is neither a month like 2025-11 nor a day like 2025-11-15`);
  if (by !== undefined) throw invalid(`spending by ${by} is counted per day; give --period a day like ${period}-01`);
  return null;
}

function costLines({ run_id, spent, attempts }: CostReport): readonly Line[] {
  const rows = attempts.map(({ step_id, attempt, at, cost }) => [
    line`${step_id}`,
    line`attempt ${attempt}`,
    line`${timeText(at)}`,
    glance(cost),
  ]);
  const total = spentLines(spent);
  return [
    line`${run_id}  ${spent.attempts} attempts`,
    ...tableLines(rows, "  "),
    ...(total.length === 0 ? [line`nothing spent`] : total),
  ];
}

function spentOverLines(spent: SpentOver, who: string): readonly Line[] {
  const total = spentLines(spent);
  return [line`${who}, ${spent.period}`, ...(total.length === 0 ? [line`nothing spent`] : total)];
}

export function retainCommand(invocation: Invocation): Command {
  const command = new Command("retain")
    .description("erase what ended runs said and did; hashes, ledger and receipts stay, so nothing happens twice")
    .requiredOption("--older-than <age>", "runs that ended longer ago than 30d, 12h, 90m or 45s", age)
    .addHelpText("after", example("writ retain --older-than 30d"));
  return invocation.does<{ readonly olderThan: number }>(command, (_, options) =>
    opened(invocation, options, looking, async ({ engine, store, person }) => {
      const endedBefore = (store.clock.now() - options.olderThan) as Instant;
      const erased = await engine.retain({ principal: person, endedBefore });
      const report = { ...erased, ended_before: endedBefore };
      invocation.terminal.answer(report, () => [
        line`erased ${erased.events} events of ${erased.runs} runs that ended before ${timeText(endedBefore)}`,
      ]);
      return 0;
    }),
  );
}

const unitsMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 };

function age(text: string): number {
  const [, count, unit] = /^(\d{1,7})([dhms])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit ?? ""];
  if (unitMs === undefined)
    throw new InvalidArgumentError("It must be a number and a unit, like 30d, 12h, 90m or 45s.");
  return Number(count) * unitMs;
}
