import type { DataVersion } from "./data-version.ts";
import { EventInserts } from "./event-inserts.ts";
import type { GroupCommitPorts } from "./group-commit.ts";
import { KnownHeads } from "./known-heads.ts";
import { KnownRunTags } from "./known-run-tags.ts";
import { SettingVersionCache } from "./setting-version-cache.ts";
import type { SqliteStatements } from "./statements.ts";

/** The parts of the store that appends use inside their transactions. */
export interface AppendContext {
  readonly statements: SqliteStatements;
  readonly settings: SettingVersionCache;
  readonly events: EventInserts;
  readonly heads: KnownHeads;
  readonly runTags: KnownRunTags;
}

export function createAppendContext(statements: SqliteStatements, version: DataVersion): AppendContext {
  const events = new EventInserts(statements);
  return {
    statements,
    settings: new SettingVersionCache(statements, version),
    events,
    heads: new KnownHeads(statements, events),
    runTags: new KnownRunTags(version),
  };
}

/** Returns the work at the beginning and the end of each transaction. */
export function transactionHooks(
  { settings, events, heads, runTags }: AppendContext,
  version: DataVersion,
): Pick<GroupCommitPorts, "onBegin" | "beforeCommit" | "onUndo"> {
  return {
    onBegin: () => heads.begin(version.observe()),
    beforeCommit: () => events.flush(),
    onUndo: () => {
      settings.forget();
      events.forget();
      heads.forgetAll();
      runTags.forgetAll();
    },
  };
}
