import { FaultError } from "../src/core/fault.ts";
import type { Json } from "../src/core/json/json.ts";
import { Draft } from "../src/core/state/draft.ts";
import { NO_STATE, patched } from "../src/core/state/project-state.ts";
import type { ListDraft, MapDraft } from "../src/core/state/slice.ts";
import { defineSlice } from "../src/schema/define-slice.ts";

const notes = defineSlice({ name: "notes", shape: "map", entry: {} });
const lines = defineSlice({
  name: "lines",
  shape: "list",
  entry: {},
  reducers: {
    throws: () => {
      throw new Error("a reducer of a stranger");
    },
  },
});

/** What a call's change of state is made with. */
interface Pens {
  readonly map: MapDraft<Json>;
  readonly list: ListDraft<Json>;
  readonly dispatch: (event: string) => void;
}

/** A change of state by someone who means harm, and what must come of it. */
export interface HostilePatch {
  readonly about: string;
  readonly change: (pens: Pens) => void;
  readonly comesTo: PatchEnd;
}

type PatchEnd = "refusal" | "kept";

/** The state before: an entry of each kind. */
const before = patched(NO_STATE, [
  {
    op: "init",
    path: "/notes",
    value: { a: { b: 1, list: [1, 2], deep: { c: {} } }, "x/y.z~": { b: 2 } },
    v: notes.version,
  },
  { op: "init", path: "/lines", value: [{ n: 0 }], v: lines.version },
]);

export function endOfPatch({ change }: HostilePatch): PatchEnd {
  const draft = new Draft(before, { slices: [notes, lines], session: "", writes: true });
  try {
    const dispatch = (event: string) => draft.dispatch(event, null);
    change({ map: draft.slice(notes) as MapDraft<Json>, list: draft.slice(lines) as ListDraft<Json>, dispatch });
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
  }
  draft.close();
  if (draft.flaw !== null) return "refusal";
  patched(before, draft.patch);
  return "kept";
}

function nest(depth: number): Json {
  let value: Json = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

const places = [
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
  ["no number", Number.NaN],
  ["more than all numbers", Number.POSITIVE_INFINITY],
  ["a date", new Date(0)],
  ["a map", new Map([[1, 2]])],
  [
    "a class",
    new (class Account {
      readonly admin = true;
    })(),
  ],
  ["a ring", cyclic],
  ["half a character", "\ud800"],
  ["a prototype", JSON.parse('{"__proto__": {"admin": true}}')],
  ["a hundred levels", nest(100)],
  ["ten thousand levels", nest(10_000)],
];

const refused = (about: string, change: HostilePatch["change"]): HostilePatch => ({
  about,
  change,
  comesTo: "refusal",
});
const kept = (about: string, change: HostilePatch["change"]): HostilePatch => ({ about, change, comesTo: "kept" });

export const hostilePatches: readonly HostilePatch[] = [
  ...places.map((path) => refused(`the place ${path.slice(0, 30)}`, ({ map }) => map.setAt("a", path, 1))),
  ...places.map((path) =>
    refused(`the place ${path.slice(0, 30)} of nothing`, ({ map }) => map.setAt("none", path, 1)),
  ),
  ...values.map(([about, value]) => refused(`${about} as an entry`, ({ map }) => map.set("k", value as Json))),
  ...values.map(([about, value]) =>
    refused(`${about} inside an entry`, ({ map }) => map.setAt("a", "/b", value as Json)),
  ),
  ...values.map(([about, value]) => refused(`${about} at the end`, ({ list }) => list.append(value as Json))),
  ...[-1, 0.5, 1, 1e21, Number.NaN, "0" as unknown as number].map((index) =>
    refused(`the entry ${index} of a list`, ({ list }) => list.set(index, 1)),
  ),
  refused("a reducer that throws", ({ dispatch }) => dispatch("throws")),
  refused("an event that nobody knows", ({ dispatch }) => dispatch("toString")),
  ...["__proto__", "constructor", "toString", "a/b", "a.b", "~0~1", "", "\u0000", "x".repeat(100_000)].map((key) =>
    kept(`the key ${JSON.stringify(key.slice(0, 20))}`, ({ map }) => map.set(key, { n: 1 })),
  ),
  kept("a hundred changes in one call", ({ map }) => {
    for (let at = 0; at < 100; at += 1) map.set(`k${at % 10}`, { at });
  }),
  kept("an entry that is not there is taken away", ({ map }) => map.delete("toString")),
  kept("a hundred kilobytes in one entry", ({ list }) => list.append({ text: "x".repeat(100_000) })),
  kept("a place among many", ({ map }) => map.setAt("a", "/b", times(2000))),
];

function times(length: number): readonly Json[] {
  return Array.from({ length }, (_, index) => index);
}
