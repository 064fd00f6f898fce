import { Command } from "commander";
import { type MigrationResult, migrate } from "../../store/postgres/migrate.ts";
import { migrateSqlite } from "../../store/sqlite/open-database.ts";
import { helpExample, type Invocation, invalidInput } from "../invocation.ts";
import { migrationProgressLines } from "../migration-progress-lines.ts";
import { line } from "../safe-line.ts";
import { isPostgres, shownAddress } from "../store-address.ts";
import { storeAddressFor } from "../with-engine.ts";

export function migrateCommand(invocation: Invocation): Command {
  const command = new Command("migrate")
    .description("create or update the tables of a Postgres store, as the role that owns them, or update a SQLite file")
    .option("--grant <role>", "grant the rights to use them to this role, which applications and workers connect as")
    .addHelpText("after", helpExample("writ migrate --store postgres://owner@db/app --grant app"));
  return invocation.withAction<{ readonly grant?: string }>(command, async (_, { grant, ...options }) => {
    const address = await storeAddressFor(options, invocation.host.cwd);
    if (address === null) throw invalidInput("the config opens its store itself; give its path or URL with --store");
    const migrated = isPostgres(address)
      ? await migrate(address, grant === undefined ? {} : { grant })
      : await migrateFile(address, grant, invocation);
    invocation.terminal.printResult(migrated, () => [
      ...migrated.applied.map((name) => line`applied ${name}`),
      line`${shownAddress(address)} has schema version ${String(migrated.version)}`,
    ]);
    return 0;
  });
}

async function migrateFile(
  path: string,
  grant: string | undefined,
  { terminal }: Invocation,
): Promise<MigrationResult> {
  if (grant !== undefined) throw invalidInput("a SQLite file has no roles; leave --grant out");
  const noteAfter = migrationProgressLines(() => performance.now());
  return migrateSqlite(path, (progress) => {
    const note = noteAfter(progress);
    if (note !== null) terminal.note(note);
  });
}
