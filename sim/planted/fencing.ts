import type { Planted } from "./plant.ts";

/** Fences, markers, and what a store promises. */
export const fencing: readonly Planted[] = [
  {
    name: "the epoch is not checked",
    file: "core/judge.js",
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
    file: "engine/road/walk.js",
    find: "if (!(await ports.store.mark(claim, step_id, attempt)))",
    replace: "if (attempt < 0)",
  },
  {
    name: "the marker ignores the fence",
    file: "store/memory/memory-store.js",
    find: "if (tables.epoch(tenant, run) !== epoch)\n                return false;",
    replace: "",
    also: {
      file: "engine/watch/leases.js",
      find: "return this.#stopwatch() - (this.#provenAt.get(claim) ?? Number.NEGATIVE_INFINITY) <= this.#store.leaseMs / 2;",
      replace: "return true;",
    },
  },
  {
    name: "a marker is believed to be missing after a restart of the machine",
    file: "engine/watch/found.js",
    find: "await store.marked(tenant, id, spec.step_id, act.attempt, act.boot)",
    replace: "await store.marked(tenant, id, spec.step_id, act.attempt, store.boot)",
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
    name: "a ledger row is written whatever is there",
    file: "core/rows-of.js",
    find: 'return put("ledger", call.key, over(version), row);',
    replace: 'return put("ledger", call.key, "any", row);',
  },
  {
    name: "a row is found without its tenant",
    file: "store/memory/tables.js",
    find: "return this.rows(table).get(tenant, key) ?? null;",
    replace:
      'for (const each of ["acme", "blue", "corp"])\n if (this.rows(table).get(each, key)) return this.rows(table).get(each, key);\n return null;',
  },
  {
    name: "an append that had landed is not recognised",
    file: "engine/record/append-once.js",
    find: "if (!isSame(landing.hash, sent))",
    replace: "if (sent !== null)",
  },
  {
    name: "an outcome is dropped when another append came first",
    file: "engine/record/mailbox.js",
    find: "this.#letters.unshift(...batch.letters);",
    replace:
      'for (const letter of batch.letters)\n letter.command.type === "end" ? letter.answer(batch.decisions[0]) : this.#letters.push(letter);',
  },
  {
    name: "an outcome is dropped when the store fails",
    file: "engine/record/mailbox.js",
    find: "batch.letters.filter((letter) => letter.keep)",
    replace: "[]",
  },
  {
    name: "a worker renews what another holds",
    file: "store/memory/memory-store.js",
    find: "const kept = claims.filter((claim) => !isLost(claim));",
    replace: "const kept = claims;",
  },
  {
    name: "a worker gives back what another holds",
    file: "store/memory/memory-store.js",
    find: "if (!isLost(claim))",
    replace: "if (claim.epoch > 0)",
  },
  {
    name: "the position is not checked",
    file: "core/judge.js",
    find: "if (position !== expect.position)",
    replace: "if (position < 0)",
  },
  {
    name: "a marker that cannot be read counts as missing",
    file: "engine/watch/found.js",
    find: "await store.marked(tenant, id, spec.step_id, act.attempt, act.boot)",
    replace: 'await store.marked(tenant, id, spec.step_id, act.attempt, act.boot).catch(() => "no")',
  },
  {
    name: "only what comes from outside is synced",
    file: "engine/record/mailbox.js",
    find: "return rests || this.#epoch === null || events.some(isHard)",
    replace: "return rests || this.#epoch === null",
  },
  {
    name: "a run that ends is not synced",
    file: "engine/record/mailbox.js",
    find: "return rests || this.#epoch === null || events.some(isHard)",
    replace: "return this.#epoch === null || events.some(isHard)",
  },
  {
    name: "commands are answered before they are written",
    file: "engine/record/mailbox.js",
    find: "const landing = await appendOnce(this.#ports, entry);",
    replace:
      "for (const [index, letter] of batch.letters.entries()) letter.answer(batch.decisions[index]);\n const landing = await appendOnce(this.#ports, entry);",
  },
  {
    name: "nobody looks for work that nobody hinted at",
    file: "engine/watch/due.js",
    find: "if (!this.#stopped)\n            this.#arm(await this.#pause());",
    replace: "",
  },
];
