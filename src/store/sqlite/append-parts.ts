import type { DataVersion } from "./data-version.ts";
import { EventInserts } from "./event-inserts.ts";
import type { GroupCommitPorts } from "./group-commit.ts";
import { JournalNumbers } from "./journal-numbers.ts";
import { KnownRunTags } from "./known-run-tags.ts";
import { SettingVersions } from "./setting-versions.ts";
import type { SqliteStatements } from "./statements.ts";

/** The parts of the store that appends use inside their transactions. */
export interface AppendParts {
  readonly statements: SqliteStatements;
  readonly settings: SettingVersions;
  readonly journals: JournalNumbers;
  readonly events: EventInserts;
  readonly runTags: KnownRunTags;
}

export function createAppendParts(statements: SqliteStatements, version: DataVersion): AppendParts {
  return {
    statements,
    settings: new SettingVersions(statements, version),
    journals: new JournalNumbers(statements),
    events: new EventInserts(statements),
    runTags: new KnownRunTags(version),
  };
}

/** Returns the work at the beginning and the end of each transaction. */
export function transactionHooks(
  { settings, journals, events, runTags }: AppendParts,
  version: DataVersion,
): Pick<GroupCommitPorts, "onBegin" | "beforeCommit" | "onUndo"> {
  return {
    onBegin: () => version.observe(),
    beforeCommit: () => events.flush(),
    onUndo: () => {
      settings.forget();
      journals.forgetAll();
      events.forget();
      runTags.forgetAll();
    },
  };
}
