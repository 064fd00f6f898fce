import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compiledPackage } from "../crash/bundle-programs.ts";
import type { SourcePatch } from "../crash/source-patch.ts";

const migrations = "store/postgres/migrations";

/** Returns a patch of the last migration that contains the text: it defines the function that is in force. */
function patchLastMigration(built: string, from: string, to: string): SourcePatch {
  const files = readdirSync(join(built, migrations)).sort();
  const file = files.findLast((name) => readFileSync(join(built, migrations, name), "utf8").includes(from));
  if (file === undefined) throw new Error(`no migration contains this text: ${from}`);
  return { file: `${migrations}/${file}`, from, to };
}

/** Makes the store accept appends, markers and renewals from a worker whose run another worker has claimed. */
export function unfencedPostgres(built = compiledPackage): readonly SourcePatch[] {
  const last = (from: string, to: string): SourcePatch => patchLastMigration(built, from, to);
  return [
    last("\n    and (under_epoch is null or epoch = under_epoch);", ";"),
    last(" and (x.epoch is null or coalesce(h.epoch = x.epoch, false))", ""),
    last(" and (e_epoch[excluded.epoch] is null or h.epoch = e_epoch[excluded.epoch])", ""),
    last("and run = x.run and epoch = x.epoch limit 1 for no key update", "and run = x.run limit 1 for no key update"),
    last("and run = x.run and worker = x.worker and epoch = x.epoch limit 1", "and run = x.run limit 1"),
    last(
      "run = c_run[i] and worker = c_worker[i] and epoch = c_epoch[i];\n    if not found",
      "run = c_run[i];\n    if not found",
    ),
    {
      file: "core/store/check-entry.js",
      from: "expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch",
      to: "false",
    },
  ];
}
