import { Draft } from "../src/core/state/draft.ts";
import { applyPatch, EMPTY_STATE } from "../src/core/state/project-state.ts";
import type { ListDraft, MapDraft } from "../src/core/state/slice.ts";
import { FaultError } from "../src/core/values/fault.ts";
import type { Json } from "../src/core/values/json.ts";
import { defineSlice } from "../src/schema/define-slice.ts";

const notes = defineSlice({ name: "notes", shape: "map", entry: {} });
const lines = defineSlice({
  name: "lines",
  shape: "list",
  entry: {},
  reducers: {
    throws: () => {
      throw new Error("a reducer threw");
    },
  },
});

/** The writers that a hostile call receives. */
interface SliceWriters {
  readonly map: MapDraft<Json>;
  readonly list: ListDraft<Json>;
  readonly dispatch: (event: string) => void;
}

/** A change of state by an attacker, and its required outcome. */
export interface HostilePatch {
  readonly about: string;
  readonly change: (writers: SliceWriters) => void;
  readonly expected: PatchOutcome;
}

type PatchOutcome = "refusal" | "kept";

/** The state before the change, with an entry of each kind. */
const stateBefore = applyPatch(EMPTY_STATE, [
  {
    op: "init",
    path: "/notes",
    value: { a: { b: 1, list: [1, 2], deep: { c: {} } }, "x/y.z~": { b: 2 } },
    v: notes.version,
  },
  { op: "init", path: "/lines", value: [{ n: 0 }], v: lines.version },
]);

export function runHostilePatch({ change }: HostilePatch): PatchOutcome {
  const draft = new Draft(stateBefore, { slices: [notes, lines], session: "", writes: true });
  try {
    const dispatch = (event: string) => draft.dispatch(event, null);
    change({ map: draft.slice(notes) as MapDraft<Json>, list: draft.slice(lines) as ListDraft<Json>, dispatch });
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
  }
  draft.close();
  if (draft.fault !== null) return "refusal";
  applyPatch(stateBefore, draft.patch);
  return "kept";
}

function nestedArray(depth: number): Json {
  let value: Json = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

const hostilePaths = [
  "/__proto__/admin",
  "/constructor/prototype/admin",
  "/b/c",
  "/list/-",
  "/list/7",
  "/list/01",
  "/list/length",
  "no/slash",
  "/~2",
  "/~",
  `/deep${"/c".repeat(5000)}`,
  "",
];

const values: readonly (readonly [string, unknown])[] = [
  ["a function", () => 1],
  ["a symbol", Symbol("x")],
  ["a big integer", 1n],
  ["NaN", Number.NaN],
  ["infinity", Number.POSITIVE_INFINITY],
  ["a date", new Date(0)],
  ["a map", new Map([[1, 2]])],
  [
    "a class",
    new (class Account {
      readonly admin = true;
    })(),
  ],
  ["a cycle", cyclic],
  ["half a character", "\ud800"],
  ["a prototype", JSON.parse('{"__proto__": {"admin": true}}')],
  ["a hundred levels", nestedArray(100)],
  ["ten thousand levels", nestedArray(10_000)],
];

const refusedPatch = (about: string, change: HostilePatch["change"]): HostilePatch => ({
  about,
  change,
  expected: "refusal",
});
const acceptedPatch = (about: string, change: HostilePatch["change"]): HostilePatch => ({
  about,
  change,
  expected: "kept",
});

export const hostilePatches: readonly HostilePatch[] = [
  ...hostilePaths.map((path) => refusedPatch(`the path ${path.slice(0, 30)}`, ({ map }) => map.setAt("a", path, 1))),
  ...hostilePaths.map((path) =>
    refusedPatch(`the path ${path.slice(0, 30)} of a missing entry`, ({ map }) => map.setAt("none", path, 1)),
  ),
  ...values.map(([about, value]) => refusedPatch(`${about} as an entry`, ({ map }) => map.set("k", value as Json))),
  ...values.map(([about, value]) =>
    refusedPatch(`${about} inside an entry`, ({ map }) => map.setAt("a", "/b", value as Json)),
  ),
  ...values.map(([about, value]) => refusedPatch(`${about} at the end`, ({ list }) => list.append(value as Json))),
  ...[-1, 0.5, 1, 1e21, Number.NaN, "0" as unknown as number].map((index) =>
    refusedPatch(`the entry ${index} of a list`, ({ list }) => list.set(index, 1)),
  ),
  refusedPatch("a reducer that throws", ({ dispatch }) => dispatch("throws")),
  refusedPatch("an unknown event", ({ dispatch }) => dispatch("toString")),
  ...["__proto__", "constructor", "toString", "a/b", "a.b", "~0~1", "", "\u0000", "x".repeat(100_000)].map((key) =>
    acceptedPatch(`the key ${JSON.stringify(key.slice(0, 20))}`, ({ map }) => map.set(key, { n: 1 })),
  ),
  acceptedPatch("a hundred changes in one call", ({ map }) => {
    for (let at = 0; at < 100; at += 1) map.set(`k${at % 10}`, { at });
  }),
  acceptedPatch("a missing entry is deleted", ({ map }) => map.delete("toString")),
  acceptedPatch("a hundred kilobytes in one entry", ({ list }) => list.append({ text: "x".repeat(100_000) })),
  acceptedPatch("a large value inside an entry", ({ map }) => map.setAt("a", "/b", times(2000))),
];

function times(length: number): readonly Json[] {
  return Array.from({ length }, (_, index) => index);
}
