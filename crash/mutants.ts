import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compiledPackage, packageRoot } from "./bundle-programs.ts";
import type { Cell } from "./cell.ts";
import type { CrashFinding } from "./check-run.ts";
import type { ScenarioName } from "./scenarios.ts";
import { applySourcePatches, type SourcePatch } from "./source-patch.ts";

/** A realistic bug that is planted in a copy of the built package. */
export interface Mutant {
  readonly bug: string;
  readonly patches: readonly SourcePatch[];
  /** The cell that must find it, and the kind of the finding. */
  readonly cell: Cell;
  readonly found: CrashFinding["kind"];
}

const opaqueAt = (point: string): Cell => ({ scenarioNames: ["opaque"], kills: [{ point, nth: 1 }] });

export const mutants: readonly Mutant[] = [
  {
    bug: "`started` is not appended before the tool is called, but together with its outcome",
    patches: [
      {
        file: "engine/journal/run-mailbox.js",
        from: "    async #append(batch) {\n",
        to: `    async #append(batch) {
        if (batch?.events.every((event) => event.type === "step.started")) {
            this.late = [...(this.late ?? []), batch];
            return this.#landed(batch, batch, this.#head, "hard", true);
        }
        if (this.late !== undefined && batch !== null) {
            const events = [...this.late.flatMap((kept) => kept.events), ...batch.events];
            batch = { ...batch, before: this.late[0].before, events };
            this.late = undefined;
        }
`,
      },
      {
        file: "engine/journal/make-entry.js",
        from: "puts: eventRows(before, events, after),",
        to: `puts: [...eventRows(before, events, after)].filter((put, at, all) => all.every((other, place) =>
                place <= at || other.key !== put.key || other.table !== put.table))
                .map((put) => (put.table === "ledger" ? { ...put, was: null } : put)),`,
      },
    ],
    cell: opaqueAt("tool.after"),
    found: "twice",
  },
  {
    bug: "`started` is never appended",
    patches: [{ file: "core/decide/start-step.js", from: "if (!grant.recorded)", to: "if (true)" }],
    cell: opaqueAt("tool.after"),
    found: "stuck",
  },
  {
    bug: "a send marker is never found",
    patches: [{ file: "store/sqlite/sqlite-leases.js", from: `return "yes";`, to: `return "no";` }],
    cell: opaqueAt("tool.sent"),
    found: "twice",
  },
  {
    bug: "the send marker is written after the tool was called",
    patches: [
      {
        file: "engine/call/acquire.js",
        from: "if (!(await ports.store.mark(claim, step_id, attempt)))",
        to: "if (false)",
      },
      {
        file: "engine/call/execute.js",
        from: "async function closeAttempt({ ports }, step, grant, { captured, state }, ended) {\n    let report = await ended;",
        to: "async function closeAttempt({ ports, claim }, step, grant, { captured, state }, ended) {\n    let report = await ended;\n    await ports.store.mark(claim, grant.step_id, grant.attempt);",
      },
    ],
    cell: opaqueAt("tool.sent"),
    found: "twice",
  },
  {
    bug: "an act whose worker died is run again",
    patches: [{ file: "core/decide/recover-run.js", from: `mark === "no"`, to: "true" }],
    cell: opaqueAt("tool.after"),
    found: "twice",
  },
  {
    bug: "an act whose worker died is not verified",
    patches: [{ file: "core/evolve/evolve-step.js", from: `? { do: "settle" }`, to: `? { do: "ask" }` }],
    cell: { scenarioNames: ["verifiable"], kills: [{ point: "tool.after", nth: 1 }] },
    found: "stuck",
  },
  {
    bug: "an act that throws counts as not done",
    patches: [{ file: "core/decide/end-attempt.js", from: `tool.errorsMean === "not_done"`, to: "true" }],
    cell: { scenarioNames: ["asked"], kills: [] },
    found: "untrue",
  },
  {
    bug: "a request that was accepted is accepted again",
    patches: [
      {
        file: "core/evolve/event-rows.js",
        from: 'put("request", key, null, row',
        to: 'put("request", key, "any", row',
      },
    ],
    cell: opaqueAt("end.after"),
    found: "twice",
  },
  {
    bug: "the key changes with the attempt",
    patches: [
      {
        file: "engine/call/execute.js",
        from: "downstreamKey(call.key, grant.generation)",
        to: "downstreamKey(call.key, grant.generation + grant.attempt)",
      },
    ],
    cell: { scenarioNames: ["idempotent"], kills: [{ point: "tool.sent", nth: 1 }] },
    found: "twice",
  },
  {
    bug: "a notice is recorded as delivered before its delivery",
    patches: [
      {
        file: "engine/call/notice-delivery.js",
        from: "if (!(await this.#isAccepted(delivery.notice)))\n            return this.#tryLater(delivery);",
        to: "",
      },
      {
        file: "engine/call/notice-delivery.js",
        from: `await mailbox.ask(() => ({ type: "deliver", now: ports.clock.now(), notice_id }));`,
        to: `await mailbox.ask(() => ({ type: "deliver", now: ports.clock.now(), notice_id }));
            ports.failpoint("notice.after");
            await this.#isAccepted(delivery.notice);`,
      },
    ],
    cell: { scenarioNames: ["notice"], kills: [{ point: "notice.after", nth: 1 }] },
    found: "lost",
  },
  {
    bug: "open attempts of the previous worker are not recovered",
    patches: [
      {
        file: "engine/worker/leased-run.js",
        from: "if (recovery !== null)",
        to: "if (false)",
      },
    ],
    cell: opaqueAt("start.after"),
    found: "stuck",
  },
  {
    bug: "a killed worker is not evicted",
    patches: [
      {
        file: "store/sqlite/worker-registry.js",
        from: "return this.#evictDead(id, found, beat);",
        to: "return found.free();",
      },
    ],
    cell: opaqueAt("tool.after"),
    found: "stuck",
  },
  {
    bug: "an eviction removes the worker but does not end its leases",
    patches: [{ file: "store/sqlite/worker-statements.js", from: "    evictLeases.run(worker);\n", to: "" }],
    cell: opaqueAt("tool.after"),
    found: "stuck",
  },
  {
    bug: "the lock file of a worker that died before it had a row stays",
    patches: [
      {
        file: "store/sqlite/worker-registry.js",
        from: "                found.remove();\n",
        to: "                found.free();\n",
      },
    ],
    cell: opaqueAt("register.before"),
    found: "stuck",
  },
];

const powerCutAt = (scenario: ScenarioName, point: string, nth = 1): Cell => ({
  scenarioNames: [scenario],
  kills: [{ point, nth }],
  power: true,
});

/** Bugs that only a power cut shows. */
export const powerCutMutants: readonly Mutant[] = [
  {
    bug: "a hard append is not synced",
    patches: [
      { file: "store/sqlite/group-commit.js", from: `flush === "hard" ? "full"`, to: `flush === "never" ? "full"` },
    ],
    cell: powerCutAt("opaque", "tool.after"),
    found: "twice",
  },
  {
    bug: "a missing marker counts as proof under another boot",
    patches: [{ file: "store/sqlite/sqlite-leases.js", from: "startedUnder !== boot", to: "false" }],
    cell: powerCutAt("opaque", "tool.after"),
    found: "twice",
  },
  {
    bug: "a request is reported as accepted before it is synced",
    patches: [
      {
        file: "engine/journal/make-entry.js",
        from: "rests || epoch === null || events.some(isHardEvent)",
        to: "events.some(isHardEvent)",
      },
      {
        file: "core/event/event-traits.js",
        from: `"run.accepted": { hard: "always"`,
        to: `"run.accepted": { hard: "never"`,
      },
    ],
    cell: powerCutAt("reads", "told"),
    found: "lost",
  },
];

/** Patches a store to write each statement in its own transaction, so that half an append can remain. */
export const nonAtomicAppend: readonly SourcePatch[] = [
  { file: "store/sqlite/group-commit.js", from: "            begin.run();\n", to: "" },
  { file: "store/sqlite/group-commit.js", from: "            commit.run();\n", to: "" },
];

/** Patches a store to accept the late outcome of a worker whose run was claimed again. */
export const unfencedSqlite: readonly SourcePatch[] = [
  {
    file: "core/store/check-entry.js",
    from: "expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch",
    to: "false",
  },
  { file: "store/sqlite/known-heads.js", from: "if (expect.epoch !== null) {\n", to: "if (false) {\n" },
];

/** Copies the built package and applies the patches. */
export function buildMutant(folder: string, patches: readonly SourcePatch[]): string {
  const home = mkdtempSync(join(folder, "mutant-"));
  const copy = join(home, "dist");
  cpSync(compiledPackage, copy, { recursive: true });
  cpSync(join(packageRoot, "package.json"), join(home, "package.json"));
  symlinkSync(join(packageRoot, "node_modules"), join(home, "node_modules"));
  for (const file of new Set(patches.map((patch) => patch.file))) {
    const path = join(copy, file);
    writeFileSync(path, applySourcePatches(file, readFileSync(path, "utf8"), patches));
  }
  return copy;
}
