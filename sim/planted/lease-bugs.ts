import type { PlantedBug } from "./plant-bug.ts";

/** Bugs in leases, epochs, markers and the store. */
export const leaseBugs: readonly PlantedBug[] = [
  {
    name: "the epoch is not checked",
    file: "core/store/check-entry.js",
    find: "if (expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch)",
    replace: "if (expect.epoch === -1)",
  },
  {
    name: "the marker is always missing",
    file: "store/memory/memory-store.js",
    find: 'return tables.markers.get(tenant, run, step, attempt) === undefined ? "no" : "yes";',
    replace: 'return "no";',
  },
  {
    name: "the tool is called without a marker",
    file: "engine/call/acquire.js",
    find: "if (!(await ports.store.mark(claim, step_id, attempt)))",
    replace: "if (attempt < 0)",
  },
  {
    name: "the marker ignores the epoch",
    file: "store/memory/memory-store.js",
    find: "if (lease?.epoch !== epoch || lease.worker !== worker)\n                return false;",
    replace: "",
    also: {
      file: "engine/worker/worker-leases.js",
      find: "return this.#stopwatch() - (this.#provenAt.get(claim) ?? Number.NEGATIVE_INFINITY) <= this.#store.leaseMs / 2;",
      replace: "return true;",
    },
  },
  {
    name: "a marker counts as missing after a restart of the machine",
    file: "engine/worker/find-recovery.js",
    find: "await store.marked(run.tenant, run.id, spec.step_id, sent.attempt, sent.boot)",
    replace: "await store.marked(run.tenant, run.id, spec.step_id, sent.attempt, store.boot)",
  },
  {
    name: "a lease can be taken while it lasts",
    file: "store/memory/memory-store.js",
    find: "return isFree(lease) || lease?.worker === worker ? take(worker, tenant, run) : null;",
    replace: "return take(worker, tenant, run);",
  },
  {
    name: "a claim leaves the epoch as it is",
    file: "store/memory/memory-store.js",
    find: "const epoch = ((tables.epoch(tenant, run) ?? 0) + 1);",
    replace: "const epoch = tables.epoch(tenant, run) ?? 1;",
  },
  {
    name: "a ledger row is written unconditionally",
    file: "core/evolve/event-rows.js",
    find: 'return put("ledger", call.key, previousVersion(version), row);',
    replace: 'return put("ledger", call.key, "any", row);',
  },
  {
    name: "a row is found without its tenant",
    file: "store/memory/memory-tables.js",
    find: "return this.rows(table).get(tenant, key) ?? null;",
    replace:
      'for (const each of ["acme", "blue", "corp"])\n if (this.rows(table).get(each, key)) return this.rows(table).get(each, key);\n return null;',
  },
  {
    name: "an append that landed is not recognised",
    file: "engine/journal/append-once.js",
    find: "if (!isSameHash(landing.hash, sent))",
    replace: "if (sent !== null)",
  },
  {
    name: "an outcome is dropped after a position conflict",
    file: "engine/journal/run-mailbox.js",
    find: "this.#queue.unshift(...batch.commands);\n                if (ahead !== null)",
    replace:
      "for (const queued of batch.commands)\n queued.mustLand ? queued.answer(batch.decisions[0]) : this.#queue.push(queued);\n if (ahead !== null)",
  },
  {
    name: "an outcome is dropped when the store fails",
    file: "engine/journal/run-mailbox.js",
    find: "commands.filter((queued) => queued.mustLand)",
    replace: "[]",
  },
  {
    name: "a worker renews the lease of another worker",
    file: "store/memory/memory-store.js",
    find: "for (const { tenant, run } of claims.filter((claim) => !isLost(claim)))",
    replace: "for (const { tenant, run, epoch, worker } of claims)",
    // A renewal that changes only the end of the lease does no harm.
    also: {
      file: "store/memory/memory-store.js",
      find: "{ ...tables.leases.get(tenant, run), until: until() }",
      replace: "{ ...tables.leases.get(tenant, run), epoch, worker, until: until() }",
    },
  },
  {
    name: "a worker releases the lease of another worker",
    file: "store/memory/memory-store.js",
    find: "if (!isLost(claim))",
    replace: "if (claim.epoch > 0)",
  },
  {
    name: "the position is not checked",
    file: "core/store/check-entry.js",
    find: "if (position !== expect.position)",
    replace: "if (position < 0)",
  },
  {
    name: "a marker that cannot be read counts as missing",
    file: "engine/worker/find-recovery.js",
    find: "await store.marked(run.tenant, run.id, spec.step_id, sent.attempt, sent.boot)",
    replace: 'await store.marked(run.tenant, run.id, spec.step_id, sent.attempt, sent.boot).catch(() => "no")',
  },
  {
    name: "only external commands are synced",
    file: "engine/journal/make-entry.js",
    find: "return rests || epoch === null || events.some(isHardEvent)",
    replace: "return rests || epoch === null",
  },
  {
    name: "the end of a run is not synced",
    file: "engine/journal/make-entry.js",
    find: "return rests || epoch === null || events.some(isHardEvent)",
    replace: "return epoch === null || events.some(isHardEvent)",
  },
  {
    name: "commands are answered before they are written",
    file: "engine/journal/run-mailbox.js",
    find: "const appending = appendTimed(this.#ports, entry);",
    replace:
      "for (const [index, queued] of batch?.commands.entries() ?? []) queued.answer(batch.decisions[index]);\n const appending = appendTimed(this.#ports, entry);",
  },
  {
    name: "a worker that never held its new run goes on with it",
    file: "engine/journal/run-mailbox.js",
    find: "if (this.#neverHeld !== null)\n            for (const queued of this.#queue.splice(0))\n                queued.refuse(this.#neverHeld);",
    replace: "",
  },
  {
    name: "a new run is reported before it is stored",
    file: "engine/journal/run-mailbox.js",
    find: "this.#accepting = { resolve, reject };",
    replace: "resolve();\n this.#accepting = { resolve() { }, reject() { } };",
  },
  {
    name: "a tool that reads is called before its run is accepted",
    file: "engine/call/check-before-call.js",
    find: "if (observesOutside(context, step))",
    replace: "if (step === null)",
  },
  {
    name: "results with which a run has moved on are stored after the next entry",
    file: "engine/journal/run-mailbox.js",
    find: "const sent = joinBatches(ahead, batch);",
    replace: "const sent = batch === null ? joinBatches(ahead, batch) : batch;",
  },
  {
    name: "results with which a run has moved on are dropped when another process appends",
    file: "engine/journal/run-mailbox.js",
    find: "this.#queue.unshift(...answeredCommands(ahead));",
    replace: ";",
  },
  {
    name: "results with which a run has moved on are dropped when the store fails",
    file: "engine/journal/run-mailbox.js",
    find: "this.#ahead = ahead;\n            this.#offerLater(error);",
    replace: "this.#offerLater(error);",
  },
  {
    name: "a run goes on under other rules off the record",
    file: "engine/worker/find-recovery.js",
    find: "return isOwn || ended !== null ? null : { worker, digest };",
    replace: "return null;",
  },
  {
    name: "a run is claimed under other rules while a live worker has its rules",
    file: "store/memory/memory-store.js",
    find: "&& !elsewhere.has(timer.rules)",
    replace: "",
  },
  {
    name: "a run is claimed without a tool of it while a live worker has one",
    file: "store/memory/memory-store.js",
    find: "due.filter(notLeftToOthers(tables, worker, terms, clock.now()))",
    replace: "due",
  },
  {
    name: "a worker looks for due runs only after a hint",
    file: "engine/worker/due-run-claims.js",
    find: "if (!this.#stopped)\n            this.#arm(await this.#pause());",
    replace: "",
  },
];
