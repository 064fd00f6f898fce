import type { Patch } from "../crash/mutants.ts";

const appends = "store/postgres/migrations/0002-append.sql";

/** The store of this one takes writes and markers from workers whose run was given to another. */
export const unfenced: readonly Patch[] = [
  { file: appends, from: "\n    and (under_epoch is null or epoch = under_epoch);", to: ";" },
  { file: appends, from: " and (x.epoch is null or h.epoch = x.epoch)", to: "" },
  { file: appends, from: " and (x.epoch is null or coalesce(h.epoch = x.epoch, false))", to: "" },
  { file: "core/judge.js", from: "expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch", to: "false" },
  {
    file: "store/postgres/migrations/0004-leases.sql",
    from: "run = of_run and epoch = under_epoch for no key update",
    to: "run = of_run for no key update",
  },
];
