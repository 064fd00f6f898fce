import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dist, root } from "./bundle.ts";
import type { Cell } from "./cell.ts";
import type { Finding } from "./judge.ts";
import { type Patch, patched } from "./patch.ts";
import type { ScenarioName } from "./scenarios.ts";

/** A bug that someone could write, planted into a copy of the built package. */
export interface Mutant {
  readonly bug: string;
  readonly patches: readonly Patch[];
  /** Where the proof must find it, and as what. */
  readonly cell: Cell;
  readonly found: Finding["kind"];
}

const opaqueAt = (point: string): Cell => ({ cast: ["opaque"], kills: [{ point, nth: 1 }] });

export const mutants: readonly Mutant[] = [
  {
    bug: "`started` is not appended before the tool is called, but together with its outcome",
    patches: [
      {
        file: "engine/record/mailbox.js",
        from: "    async #append(batch) {\n",
        to: `    async #append(batch) {
        if (batch.events.every((event) => event.type === "step.started")) {
            this.late = [...(this.late ?? []), batch];
            return this.#landed(batch, this.#head);
        }
        if (this.late !== undefined) {
            const events = [...this.late.flatMap((kept) => kept.events), ...batch.events];
            batch = { ...batch, before: this.late[0].before, events };
            this.late = undefined;
        }
`,
      },
      {
        file: "engine/record/mailbox.js",
        from: "puts: rowsOf(before, events, after),",
        to: `puts: [...rowsOf(before, events, after)].filter((put, at, all) => all.every((other, place) =>
                place <= at || other.key !== put.key || other.table !== put.table))
                .map((put) => (put.table === "ledger" ? { ...put, was: null } : put)),`,
      },
    ],
    cell: opaqueAt("tool.after"),
    found: "twice",
  },
  {
    bug: "`started` is never appended",
    patches: [{ file: "core/decide/start.js", from: "if (!grant.recorded)", to: "if (true)" }],
    cell: opaqueAt("tool.after"),
    found: "stuck",
  },
  {
    bug: "a send marker is never found",
    patches: [{ file: "store/sqlite/leases.js", from: `return "yes";`, to: `return "no";` }],
    cell: opaqueAt("tool.sent"),
    found: "twice",
  },
  {
    bug: "the send marker is written after the tool was called",
    patches: [
      {
        file: "engine/road/walk.js",
        from: "if (!(await ports.store.mark(claim, step_id, attempt)))",
        to: "if (false)",
      },
      {
        file: "engine/road/walk.js",
        from: "let execution = await perform(way, step, grant, work);",
        to: "let execution = await perform(way, step, grant, work);\n    await ports.store.mark(way.claim, grant.step_id, grant.attempt);",
      },
    ],
    cell: opaqueAt("tool.sent"),
    found: "twice",
  },
  {
    bug: "an act whose worker died is run again",
    patches: [{ file: "core/decide/settle.js", from: `mark === "no"`, to: "true" }],
    cell: opaqueAt("tool.after"),
    found: "twice",
  },
  {
    bug: "an act whose worker died is given up without asking anyone",
    patches: [{ file: "core/evolve/step.js", from: `? { do: "settle" }`, to: `? { do: "ask" }` }],
    cell: { cast: ["verifiable"], kills: [{ point: "tool.after", nth: 1 }] },
    found: "stuck",
  },
  {
    bug: "an act that throws counts as one that never happened",
    patches: [{ file: "core/decide/end.js", from: `tool.errorsMean === "not_done"`, to: "true" }],
    cell: { cast: ["asked"], kills: [] },
    found: "untrue",
  },
  {
    bug: "a request that was accepted is accepted again",
    patches: [
      {
        file: "core/rows-of.js",
        from: "requestKey(event.principal.id, event.request.key), null, row",
        to: `requestKey(event.principal.id, event.request.key), "any", row`,
      },
    ],
    cell: opaqueAt("end.after"),
    found: "twice",
  },
  {
    bug: "the key changes with the attempt",
    patches: [
      {
        file: "engine/road/walk.js",
        from: "downstreamKey(call.key, grant.generation);",
        to: "downstreamKey(call.key, grant.generation + grant.attempt);",
      },
    ],
    cell: { cast: ["idempotent"], kills: [{ point: "tool.sent", nth: 1 }] },
    found: "twice",
  },
  {
    bug: "a notice counts as delivered before it is",
    patches: [
      {
        file: "engine/road/deliveries.js",
        from: "if (!(await this.#isTaken(delivery.notice)))\n            return this.#tryLater(delivery);",
        to: "",
      },
      {
        file: "engine/road/deliveries.js",
        from: `await mailbox.ask({ type: "deliver", now: ports.clock.now(), notice_id });`,
        to: `await mailbox.ask({ type: "deliver", now: ports.clock.now(), notice_id });
            ports.failpoint("notice.after");
            await this.#isTaken(delivery.notice);`,
      },
    ],
    cell: { cast: ["notice"], kills: [{ point: "notice.after", nth: 1 }] },
    found: "lost",
  },
  {
    bug: "what the last worker left under way is not looked at",
    patches: [{ file: "engine/watch/held-run.js", from: "if (found.length > 0 || taken !== null)", to: "if (false)" }],
    cell: opaqueAt("start.after"),
    found: "stuck",
  },
];

const darkAt = (scenario: ScenarioName, point: string, nth = 1): Cell => ({
  cast: [scenario],
  kills: [{ point, nth }],
  power: true,
});

/** What shows only when the power goes with the process. */
export const darkMutants: readonly Mutant[] = [
  {
    bug: "a hard append is not synced",
    patches: [
      { file: "store/sqlite/group-commit.js", from: `flush === "hard" ? "full"`, to: `flush === "never" ? "full"` },
    ],
    cell: darkAt("opaque", "tool.after"),
    found: "twice",
  },
  {
    bug: "a marker that is not there proves something under another boot, too",
    patches: [{ file: "store/sqlite/leases.js", from: "startedUnder !== boot", to: "false" }],
    cell: darkAt("opaque", "tool.after"),
    found: "twice",
  },
  {
    bug: "a request is told to be accepted before that is synced",
    patches: [
      {
        file: "engine/record/mailbox.js",
        from: "rests || this.#epoch === null || events.some(isHard)",
        to: "events.some(isHard)",
      },
      { file: "engine/record/flush.js", from: `"run.accepted",`, to: "" },
    ],
    cell: darkAt("reads", "told"),
    found: "lost",
  },
];

/** The store of this one writes each statement for itself, so that what is half written is there. */
export const halfWritten: readonly Patch[] = [
  { file: "store/sqlite/group-commit.js", from: "            begin.run();\n", to: "" },
  { file: "store/sqlite/group-commit.js", from: "            commit.run();\n", to: "" },
];

/** The store of this one takes the late outcome of a worker whose run was claimed again. */
export const unfenced: readonly Patch[] = [
  { file: "core/judge.js", from: "expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch", to: "false" },
  { file: "store/sqlite/landing.js", from: "expect.epoch === null\n", to: "true\n" },
];

/** A copy of the built package with a bug in it. */
export function infected(folder: string, patches: readonly Patch[]): string {
  const home = mkdtempSync(join(folder, "mutant-"));
  const copy = join(home, "dist");
  cpSync(dist, copy, { recursive: true });
  cpSync(join(root, "package.json"), join(home, "package.json"));
  symlinkSync(join(root, "node_modules"), join(home, "node_modules"));
  for (const file of new Set(patches.map((patch) => patch.file))) {
    const path = join(copy, file);
    writeFileSync(path, patched(file, readFileSync(path, "utf8"), patches));
  }
  return copy;
}
