import { Command } from "commander";
import { migrate } from "../../store/postgres/migrate.ts";
import { example, type Invocation, invalid } from "../invocation.ts";
import { line } from "../line.ts";
import { addressFor } from "../opening.ts";
import { isPostgres, shownAddress } from "../store-address.ts";

export function migrateCommand(invocation: Invocation): Command {
  const command = new Command("migrate")
    .description("make or update the tables of a Postgres store, as the role that shall own them")
    .option("--grant <role>", "let this role use them: the one that applications and workers connect as")
    .addHelpText("after", example("writ migrate --store postgres://owner@db/app --grant app"));
  return invocation.does<{ readonly grant?: string }>(command, async (_, options) => {
    const address = await addressFor(options, invocation.host.cwd);
    if (address === null || !isPostgres(address))
      throw invalid(
        "give the URL of a Postgres with --store; a store in a file is brought up to date when it is opened",
      );
    const migrated = await migrate(address, options.grant === undefined ? {} : { grant: options.grant });
    invocation.terminal.answer(migrated, () => [
      ...migrated.applied.map((name) => line`applied ${name}`),
      line`${shownAddress(address)} has schema version ${String(migrated.version)}`,
    ]);
    return 0;
  });
}
