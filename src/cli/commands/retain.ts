import { Command, InvalidArgumentError } from "commander";
import type { Instant } from "../../core/values/ids.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line } from "../safe-line.ts";
import { timeText } from "../time-text.ts";
import { withEngine } from "../with-engine.ts";

export function retainCommand(invocation: Invocation): Command {
  const command = new Command("retain")
    .description("erase the bodies of old ended runs; hashes, ledger and receipts stay, so no act is repeated")
    .requiredOption("--older-than <age>", "runs that ended longer ago than this: 30d, 12h, 90m or 45s", parseAge)
    .addHelpText("after", helpExample("writ retain --older-than 30d"));
  return invocation.withAction<{ readonly olderThan: number }>(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, now, person }) => {
      const endedBefore = (now() - options.olderThan) as Instant;
      const erased = await engine.retain({ principal: person, endedBefore });
      const report = { ...erased, ended_before: endedBefore };
      invocation.terminal.printResult(report, () => [
        line`erased ${erased.events} events of ${erased.runs} runs that ended before ${timeText(endedBefore, invocation.terminal.style)}`,
        ...(erased.log === "pending"
          ? [
              line`the log of the store still holds them, because another process reads the store; end that process, then run this again`,
            ]
          : []),
      ]);
      return erased.log === "pending" ? 3 : 0;
    }),
  );
}

const unitsMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 };

function parseAge(text: string): number {
  const [, count, unit] = /^(\d{1,7})([dhms])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit ?? ""];
  if (unitMs === undefined)
    throw new InvalidArgumentError("It must be a number and a unit, like 30d, 12h, 90m or 45s.");
  return Number(count) * unitMs;
}
