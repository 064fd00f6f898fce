import type { PlantedBug } from "./plant-bug.ts";

const registry = "store/sqlite/worker-registry.js";
const leases = "store/sqlite/sqlite-leases.js";
const statements = "store/sqlite/statements.js";

/** A missing lock file counts as the death of its worker. */
const missingIsDead = {
  file: registry,
  find: 'found === "missing" && boot !== null && boot !== this.#options.boot;',
  replace: 'found === "missing";',
};

/** A call is made although the lease may have been lost meanwhile. */
const noProof = {
  file: "engine/worker/worker-leases.js",
  find: "return this.#stopwatch() - (this.#provenAt.get(claim) ?? Number.NEGATIVE_INFINITY) <= this.#store.leaseMs / 2;",
  replace: "return true;",
};

/** Gives the store a way to wait between two transactions, so that a rare moment lasts. */
const pause = {
  file: registry,
  find: "    async unregisterAll() {",
  replace:
    "    pause() { return new Promise((resolve) => this.#options.timers.after(300, resolve)); }\n    async unregisterAll() {",
};

/** Bugs of many workers on one SQLite file, each planted with the other guard off and the moment made longer. */
export const fileBugs: readonly PlantedBug[] = [
  {
    name: "all leases end when a worker registers",
    simulation: "file",
    file: registry,
    find: "await this.#assertSameBoot();\n",
    replace:
      'await this.#assertSameBoot();\n await this.#context.group.join("soft", () => { for (const { id } of this.#context.statements.workers.all()) this.#context.statements.evictLeases.run(id); });\n',
  },
  {
    name: "an eviction leaves the epoch as it is",
    simulation: "file",
    file: "store/sqlite/worker-statements.js",
    find: "update lease indexed by lease_worker set epoch = epoch + 1,",
    replace: "update lease indexed by lease_worker set",
  },
  {
    name: "a worker is evicted by the wall clock",
    simulation: "file",
    file: "store/sqlite/sqlite-store.js",
    find: "{ file, boot, timers, stopwatch, stallMs,",
    replace: "{ file, boot, timers, stopwatch: () => clock.now(), stallMs,",
    // A jump between two looks would start the count again.
    also: {
      file: "store/sqlite/stalled-workers.js",
      find: "if (now - this.#lookedAt >= mostMs)",
      replace: "if (now < 0)",
    },
  },
  {
    name: "the time of a suspended machine counts",
    simulation: "file",
    file: "store/sqlite/stalled-workers.js",
    find: "if (now - this.#lookedAt >= mostMs)",
    replace: "if (now < 0)",
  },
  {
    name: "a worker is registered before its file is locked",
    simulation: "file",
    file: registry,
    find: 'const lock = this.#createLock(worker);\n        this.#options.failpoint("register.before");\n        try {\n            await this.#context.group.join("soft", () => this.#insert(worker));',
    replace:
      'await this.#context.group.join("soft", () => this.#insert(worker)); await this.pause(); const lock = this.#createLock(worker);\n        try {',
    // A missing file alone would only start the count.
    also: [pause, missingIsDead],
  },
  { name: "a missing lock file counts as the death of its worker", simulation: "file", ...missingIsDead },
  {
    name: "a marker is written in another transaction than the check of the lease",
    simulation: "file",
    file: leases,
    find: 'return group.join("soft", () => writeMarker(statements, claim, step, attempt));',
    replace:
      'const { tenant, run, worker, epoch } = claim; if (await group.join("soft", () => statements.holds.get(tenant, run, worker, epoch)) === undefined) return false; await workers.pause(); return group.join("soft", () => writeMarker(statements, claim, step, attempt));',
    also: [
      pause,
      noProof,
      {
        file: leases,
        find: "if (statements.holds.get(tenant, run, worker, epoch) === undefined)\n        return false;",
        replace: "",
      },
      {
        file: statements,
        find: "where exists (select 1 from lease where tenant = ?1 and run = ?2 and worker = ?6 and epoch = ?5)",
        replace: "where ?6 is not null",
      },
      {
        file: leases,
        find: "function markerMethods({ statements, group, read }, boot)",
        replace: "function markerMethods({ statements, group, read, workers }, boot)",
      },
    ],
  },
  {
    name: "a log that a program still reads counts as empty",
    simulation: "file",
    file: "store/sqlite/truncate-write-ahead-log.js",
    find: "found?.busy === 0",
    replace: "found !== undefined",
  },
  {
    name: "a migration does not wait for other processes",
    simulation: "file",
    file: "store/sqlite/open-database.js",
    find: "if (alone === null)\n        throw busyFault(db, file);",
    replace: "",
    also: { file: "store/sqlite/open-database.js", find: "alone.free();", replace: "alone?.free();" },
  },
  {
    name: "a stalled worker counts as dead",
    simulation: "file",
    file: registry,
    find: "this.#suspend(worker);",
    replace: "this.#evict(worker);",
  },
  {
    name: "a call whose worker is listed counts as ended",
    simulation: "file",
    file: "engine/worker/find-executing-worker.js",
    find: "const others = sent.filter(({ worker }) => worker !== own);",
    replace: "const others = [];",
  },
  {
    name: "a due run is claimed by a worker without its tool",
    simulation: "file",
    file: leases,
    find: "const { own, same, any } = toolsElsewhere(statements, worker, rules, offers);",
    replace: "const { own, same, any } = { own: null, same: null, any: null };",
  },
  {
    name: "a due run is claimed by a worker with other rules",
    simulation: "file",
    file: statements,
    find: "worker.rules = timer.row ->> 'rules' and",
    replace: "worker.rules = timer.key and",
  },
];
