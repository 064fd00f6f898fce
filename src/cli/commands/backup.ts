import { resolve } from "node:path";
import { Command } from "commander";
import { helpExample, type Invocation } from "../invocation.ts";
import { line } from "../safe-line.ts";
import { timeText } from "../time-text.ts";
import { withEngine } from "../with-engine.ts";

export function backupCommand(invocation: Invocation): Command {
  const command = new Command("backup")
    .description("copy a SQLite store to a new file, while it is in use, and check the copy")
    .argument("<file>", "path of the backup; an existing file is never overwritten")
    .option("--reason <text>", "the reason, for the record")
    .addHelpText("after", helpExample("writ backup backups/monday.db"));
  return invocation.withAction<{ readonly reason?: string }>(command, ([file = ""], { reason, ...options }) =>
    withEngine(invocation, options, { work: "no", needs: "store", isLocal: true }, async ({ engine, person }) => {
      // A person who can open the store may act as its operator.
      const principal = { ...person, roles: [...(person.roles ?? []), "operator"] };
      const path = resolve(invocation.host.cwd, file);
      const report = await engine.backup(path, { principal, ...(reason !== undefined && { reason }) });
      const { tenants, journals, events, bytes, at } = report;
      invocation.terminal.printResult(report, () => [
        line`backed up to ${report.file}, ${bytes} bytes, checked`,
        line`  everything before ${timeText(at, invocation.terminal.style)}: ${events} events in ${journals} journals of ${tenants} tenants`,
      ]);
      return 0;
    }),
  );
}
