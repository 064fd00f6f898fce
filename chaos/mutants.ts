import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dist } from "../crash/bundle.ts";
import type { Patch } from "../crash/patch.ts";

const migrations = "store/postgres/migrations";

/** Where the functions of the store are written that hold now: the last migration that has the text. */
function lastWith(from: string, to: string): Patch {
  const files = readdirSync(join(dist, migrations)).sort();
  const file = files.findLast((name) => readFileSync(join(dist, migrations, name), "utf8").includes(from));
  if (file === undefined) throw new Error(`no migration has a place for this bug: ${from}`);
  return { file: `${migrations}/${file}`, from, to };
}

/** The store of this one takes appends, markers and renewals from workers whose run was given to another. */
export function unfenced(): readonly Patch[] {
  return [
    lastWith("\n    and (under_epoch is null or epoch = under_epoch);", ";"),
    lastWith(" and (x.epoch is null or coalesce(h.epoch = x.epoch, false))", ""),
    lastWith(" and (e_epoch[excluded.epoch] is null or h.epoch = e_epoch[excluded.epoch])", ""),
    lastWith(
      "and run = x.run and epoch = x.epoch limit 1 for no key update",
      "and run = x.run limit 1 for no key update",
    ),
    lastWith(
      "run = c_run[i] and worker = c_worker[i] and epoch = c_epoch[i];\n    if not found",
      "run = c_run[i];\n    if not found",
    ),
    { file: "core/judge.js", from: "expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch", to: "false" },
  ];
}
