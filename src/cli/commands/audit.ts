import { Command } from "commander";
import { FaultError, fault } from "../../core/values/fault.ts";
import { auditFindings } from "../../engine/admin/audit/audit-findings.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line } from "../safe-line.ts";
import { withEngine } from "../with-engine.ts";

export function auditCommand(invocation: Invocation): Command {
  const command = new Command("audit")
    .description("check that the record is unchanged: every hash, and every row against its events")
    .argument("[run]", "id of a run (default: all runs of the tenant)")
    .addHelpText("after", helpExample("writ audit", "writ audit run_01k2… --json"));
  return invocation.withAction(command, ([run], options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const report = await engine.audit({ principal: person, ...(run !== undefined && { runId: run }) });
      if (report.broken.length + report.rows.length + report.tallies.length > 0)
        throw new FaultError(
          fault(
            "CHAIN_BROKEN",
            `the record was changed: ${auditFindings(report).join("; ")}; restore it from a backup`,
            {
              ...report,
              broken: report.broken.map((broken) => ({ ...broken })),
              rows: report.rows.map((row) => ({ ...row })),
              tallies: report.tallies.map((tally) => ({ ...tally })),
            },
          ),
        );
      const erased = report.erased === 0 ? "" : `; retention has erased ${report.erased} of them`;
      invocation.terminal.printResult(report, () => [
        line`the record is unchanged: ${report.events} events of ${report.runs} runs${erased}`,
      ]);
      return 0;
    }),
  );
}
