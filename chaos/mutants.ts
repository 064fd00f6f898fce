import type { Patch } from "../crash/mutants.ts";

const leases = "store/postgres/migrations/0004-leases.sql";
const appends = "store/postgres/migrations/0002-append.sql";

/** The store of this one takes appends, markers and renewals from workers whose run was given to another. */
export const unfenced: readonly Patch[] = [
  { file: appends, from: "\n    and (under_epoch is null or epoch = under_epoch);", to: ";" },
  { file: appends, from: " and (x.epoch is null or h.epoch = x.epoch)", to: "" },
  { file: appends, from: " and (x.epoch is null or coalesce(h.epoch = x.epoch, false))", to: "" },
  { file: "core/judge.js", from: "expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch", to: "false" },
  {
    file: leases,
    from: "run = of_run and epoch = under_epoch for no key update",
    to: "run = of_run for no key update",
  },
  { file: leases, from: " and l.worker = x.worker and l.epoch = x.epoch\n", to: "\n" },
];
