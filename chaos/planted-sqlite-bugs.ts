import { unfencedSqlite } from "../crash/mutants.ts";
import type { SourcePatch } from "../crash/source-patch.ts";
import { jumpingClockChaos } from "./chaos-presets.ts";
import type { chaosFigures } from "./chaos-report.ts";

/** A bug in the code that keeps the workers of one file apart. If a second guard hides it, that guard is off too. */
export interface PlantedSqliteBug {
  readonly bug: string;
  readonly patches: readonly SourcePatch[];
  /** The faults that show it; without them, those of every planted bug. */
  readonly chaos?: typeof jumpingClockChaos;
  /** One of these counts is not zero if the test finds the bug. */
  readonly shows: readonly (keyof ReturnType<typeof chaosFigures>)[];
}

const registry = "store/sqlite/worker-registry.js";
const leases = "store/sqlite/sqlite-leases.js";
const statements = "store/sqlite/statements.js";

/** Guard: a tool is only called under a lease that was confirmed recently. */
const noLeaseProof: SourcePatch = {
  file: "engine/worker/worker-leases.js",
  from: "return this.#stopwatch() - (this.#provenAt.get(claim) ?? Number.NEGATIVE_INFINITY) <= this.#store.leaseMs / 2;",
  to: "return true;",
};

/** Guard: an observer that stood still, or whose clock jumped, counts from zero. */
const noRestart: SourcePatch = { file: "store/sqlite/stalled-workers.js", from: "this.#seen.clear();", to: ";" };

/** Guard: a worker that claims a run after a pause shows with it that it runs. */
const noBeatWithClaim: SourcePatch = { file: leases, from: "workers.isBeatDue ?", to: "false ?" };

export const plantedSqliteBugs: readonly PlantedSqliteBug[] = [
  {
    bug: "a worker that registers ends the leases of all others",
    patches: [
      {
        file: registry,
        from: `() => this.#insert(worker));\n        }\n        catch`,
        to: `() => {
                for (const { id } of this.#context.statements.workers.all()) this.#evict(id);
                this.#insert(worker);
            });\n        }\n        catch`,
      },
    ],
    shows: ["evicted"],
  },
  {
    bug: "neither an eviction nor the claim after it moves the epoch",
    patches: [
      {
        file: "store/sqlite/worker-statements.js",
        from: "lease_worker set epoch = epoch + 1, prior",
        to: "lease_worker set prior",
      },
      {
        file: statements,
        from: "set epoch = epoch + 1, prior = coalesce(worker, prior)",
        to: "set epoch = epoch + (prior is null), prior = coalesce(worker, prior)",
      },
    ],
    shows: ["violations"],
  },
  {
    bug: "a worker counts as stalled by the wall clock",
    patches: [
      {
        file: "store/sqlite/sqlite-store.js",
        from: "boot, timers, stopwatch, stallMs,",
        to: "boot, timers, stopwatch: () => clock.now(), stallMs,",
      },
      noRestart,
      noBeatWithClaim,
    ],
    chaos: jumpingClockChaos,
    shows: ["evicted"],
  },
  {
    bug: "an observer that stood still counts the time of its own stop",
    patches: [noRestart, noBeatWithClaim],
    shows: ["evicted"],
  },
  {
    bug: "a missing lock file means that its worker is dead",
    patches: [{ file: registry, from: "if (!diedWithItsBoot && ", to: `if (found !== "missing" && ` }],
    shows: ["evicted"],
  },
  {
    bug: "the lock of a file that was deleted means that its worker is dead",
    patches: [
      { file: "store/sqlite/lock-file.js", from: "if (lock.hasItsName)", to: "if (true)" },
      // Some looks take so long that the worker creates its file again meanwhile.
      {
        file: "store/sqlite/lock-file.js",
        from: "            onOpened();\n",
        to: `            onOpened();
            if (Math.random() < 0.05) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);\n`,
      },
    ],
    shows: ["evicted"],
  },
  {
    bug: "a worker opens its own lock file with the functions of Node",
    patches: [
      {
        file: registry,
        from: "    #keepFiles() {\n",
        to: `    #keepFiles() {
        const { closeSync, existsSync, openSync } = process.getBuiltinModule("node:fs");
        for (const { path } of this.#own.values()) if (existsSync(path)) closeSync(openSync(path, "r"));
`,
      },
    ],
    shows: ["evicted"],
  },
  {
    bug: "the lease is checked before the transaction that writes the send marker",
    patches: [
      {
        file: leases,
        from: `            return group.join("soft", () => writeMarker(`,
        to: `            const { tenant, run, worker, epoch } = claim;
            if (read(() => statements.holds.get(tenant, run, worker, epoch)) === undefined) return false;
            await new Promise((resolve) => setTimeout(resolve, 300));
            return group.join("soft", () => writeMarker(`,
      },
      { file: leases, from: "if (statements.holds.get(tenant, run, worker, epoch) === undefined)", to: "if (false)" },
      noLeaseProof,
    ],
    shows: ["duplicates"],
  },
  {
    bug: "writes do not check the epoch",
    patches: [
      ...unfencedSqlite,
      { file: leases, from: "if (statements.holds.get(tenant, run, worker, epoch) === undefined)", to: "if (false)" },
      noLeaseProof,
    ],
    shows: ["duplicates", "violations"],
  },
];
