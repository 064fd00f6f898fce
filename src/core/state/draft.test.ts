import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countedWork } from "../../../tests/counted-work.ts";
import { defineSlice } from "../../schema/define-slice.ts";
import { FaultError } from "../fault.ts";
import { canonical } from "../json/canonical.ts";
import type { Json, JsonObject } from "../json/json.ts";
import { pointerTo } from "../json/pointer.ts";
import { differences } from "./difference.ts";
import { Draft } from "./draft.ts";
import { type Patch, quarrel } from "./patch.ts";
import { entriesFrom, NO_STATE, type ProjectState, patched, wholeOf } from "./project-state.ts";
import { reverting } from "./revert.ts";

const list = defineSlice({ name: "list", shape: "list", entry: {}, initial: ["first"] });
const map = defineSlice({ name: "map", shape: "map", entry: {}, initial: { "a/b": { "~c.d": 0 } } });
const log = defineSlice({
  name: "log",
  shape: "list",
  policy: "log",
  entry: { type: "integer" },
  reducers: {
    counted: (slice, event) => slice.append(event),
    broken: (slice) => {
      slice.append(1);
      throw new Error("no");
    },
  },
});
const cache = defineSlice({ name: "workspace_digest", shape: "map", entry: {} });
const mine = defineSlice({ name: "mine", shape: "map", scope: "session", entry: { type: "integer" } });
const slices = [list, map, log, cache, mine];
const draftOn = (state: ProjectState, writes = true, session = "") => new Draft(state, { slices, session, writes });

const keys = ["a/b", "c.d", "~", "-", "__proto__", ""];
/** What a schema lets pass. */
const anything = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("__proto__"));
type Deed = (draft: Draft) => void;
const deed: fc.Arbitrary<Deed> = fc.oneof(
  anything.map(
    (value): Deed =>
      (draft) =>
        listOf(draft).append(value as Json),
  ),
  fc.tuple(fc.nat(5), anything).map(
    ([index, value]): Deed =>
      (draft) => {
        const items = listOf(draft);
        if (index < items.size) items.set(index, value as Json);
      },
  ),
  fc.array(anything, { maxLength: 3 }).map(
    (values): Deed =>
      (draft) =>
        listOf(draft).replace(values as Json[]),
  ),
  fc.tuple(fc.constantFrom(...keys), anything).map(
    ([key, value]): Deed =>
      (draft) =>
        mapOf(draft).set(key, value as Json),
  ),
  fc.constantFrom(...keys).map(
    (key): Deed =>
      (draft) =>
        mapOf(draft).delete(key),
  ),
  fc.constantFrom(...keys).map(
    (key): Deed =>
      (draft) => {
        const entry = mapOf(draft).get(key);
        if (typeof entry === "object" && entry !== null && !Array.isArray(entry)) mapOf(draft).setAt(key, "/~0c.d", 7);
      },
  ),
  fc.nat(9).map(
    (number): Deed =>
      (draft) =>
        draft.dispatch("counted", number),
  ),
  fc.constantFrom("x", "y").map(
    (key): Deed =>
      (draft) =>
        (draft.slice(cache) as ReturnType<typeof mapOf>).set(key, 1),
  ),
);
const listOf = (draft: Draft) => draft.slice(list) as Extract<ReturnType<Draft["slice"]>, { append: unknown }>;
const mapOf = (draft: Draft) => draft.slice(map) as Extract<ReturnType<Draft["slice"]>, { delete: unknown }>;

/** What a state says, whole: what was never written is what it is initially. */
function told(state: ProjectState): JsonObject {
  return Object.fromEntries(
    slices.map((slice) => [slice.name, wholeOf(state.get(slice.name) ?? entriesFrom(slice.initial, "1"))]),
  );
}

const patchesFrom = (state: ProjectState, calls: readonly (readonly Deed[])[]) => {
  const patches: Patch[] = [];
  let now = state;
  for (const deeds of calls) {
    const draft = draftOn(now);
    for (const work of deeds) work(draft);
    patches.push(draft.patch);
    now = patched(now, draft.patch);
  }
  return { patches, now };
};

describe("a draft", () => {
  it("leaves a patch that makes of the base what the draft shows, and the base stays what it was", () => {
    fc.assert(
      fc.property(fc.array(deed), fc.array(deed), (earlier, deeds) => {
        const base = patchesFrom(NO_STATE, [earlier]).now;
        const text = JSON.stringify(told(base));
        const draft = draftOn(base);
        for (const work of deeds) work(draft);
        const after = patched(base, JSON.parse(JSON.stringify(draft.patch)) as Patch);
        expect(told(after).list).toEqual(listOf(draft).all());
        expect(Object.entries(told(after).map as JsonObject)).toEqual(mapOf(draft).all());
        expect(JSON.stringify(told(base))).toBe(text);
        expect(draft.flaw).toBeNull();
      }),
    );
  });

  it("leaves only what was said to logs when its call fails", () => {
    fc.assert(
      fc.property(fc.array(deed), (deeds) => {
        const draft = draftOn(NO_STATE);
        for (const work of deeds) work(draft);
        const { log: said, ...rest } = told(patched(NO_STATE, draft.logged));
        const { log: _log, ...before } = told(NO_STATE);
        expect(rest).toEqual(before);
        expect(said).toEqual(told(patched(NO_STATE, draft.patch)).log);
      }),
    );
  });

  it("hands out entries that nobody can change in place", () => {
    const draft = draftOn(NO_STATE);
    const given = { deep: { er: [1] } };
    listOf(draft).append(given);
    const entry = listOf(draft).latest() as unknown as typeof given;
    expect(() => entry.deep.er.push(2)).toThrow(TypeError);
    given.deep.er.push(2);
    expect(listOf(draft).latest()).toEqual({ deep: { er: [1] } });
  });

  it("keeps sessions apart", () => {
    const one = draftOn(NO_STATE, true, "one");
    (one.slice(mine) as ReturnType<typeof mapOf>).set("a", 1);
    const state = patched(NO_STATE, one.patch);
    const seen = (session: string) => (draftOn(state, false, session).slice(mine) as ReturnType<typeof mapOf>).get("a");
    expect([seen("one"), seen("two"), seen("")]).toEqual([1, undefined, undefined]);
  });

  it.each<[string, string, (draft: Draft) => void]>([
    ["a reducer that throws", "REDUCER_FAILED", (draft) => draft.dispatch("broken", null)],
    ["an event that nobody takes", "STATE_INVALID", (draft) => draft.dispatch("unheard", null)],
    ["an entry that does not fit", "STATE_INVALID", (draft) => draft.dispatch("counted", "one")],
    [
      "a log that is rewritten",
      "STATE_FORBIDDEN",
      (draft) => (draft.slice(log) as ReturnType<typeof listOf>).replace([]),
    ],
    ["an index that is not there", "STATE_INVALID", (draft) => listOf(draft).set(9, 1)],
    ["a place that is not there", "STATE_INVALID", (draft) => mapOf(draft).setAt("nobody", "/a", 1)],
    ["a pointer that is none", "STATE_INVALID", (draft) => mapOf(draft).get("a/b", "no")],
  ])("notes %s, though its call looks away", (_, code, work) => {
    const draft = draftOn(NO_STATE);
    expect(() => work(draft)).toThrow(FaultError);
    expect(draft.flaw).toMatchObject({ code });
  });

  it("is not written where it is for looking, nor after its call", () => {
    const looking = draftOn(NO_STATE, false);
    expect(() => listOf(looking).append(1)).toThrow(/whose effect is writes/);
    const over = draftOn(NO_STATE);
    over.close();
    expect(() => listOf(over).append(1)).toThrow(/after its call was over/);
    expect(over.patch).toEqual([]);
  });

  it("takes as much work on a million entries as on ten", () => {
    const work = (count: number) => {
      const state = patched(NO_STATE, [
        { op: "init", path: "/list", v: "1", value: Array.from({ length: count }, () => 0) },
      ]);
      return countedWork(() => {
        const draft = draftOn(state);
        listOf(draft).append(1);
        patched(state, draft.patch);
      });
    };
    // A path through four levels of 32 is copied, once for the draft and once when it is published.
    expect(work(1_000_000)).toBeLessThan(work(10) + 2 * 4 * 32);
  });
});

describe("two drafts of one state", () => {
  it("are no quarrel only if the second comes out the same on top of the first", () => {
    fc.assert(
      fc.property(fc.array(deed), fc.array(deed), fc.array(deed), (earlier, ones, twos) => {
        const base = patchesFrom(NO_STATE, [earlier]).now;
        const [one, two] = [draftOn(base), draftOn(base)];
        for (const work of ones) work(one);
        for (const work of twos) work(two);
        fc.pre(quarrel([one.patch], two.reads, two.writes) === null);
        const merged = patched(patched(base, one.patch), two.patch);
        const serial = draftOn(patched(base, one.patch));
        for (const work of twos) work(serial);
        expect(told(merged)).toEqual(told(patched(patched(base, one.patch), serial.patch)));
      }),
      { numRuns: 200 },
    );
  });

  it.each<[string, Deed, Deed, boolean]>([
    ["appends beside appends", (draft) => listOf(draft).append(1), (draft) => listOf(draft).append(2), false],
    ["an append beside one who counts", (draft) => listOf(draft).append(1), (draft) => void listOf(draft).size, true],
    [
      "an append beside one who found no such entry",
      (draft) => listOf(draft).append(1),
      (draft) => void listOf(draft).get(1),
      true,
    ],
    [
      "an append beside one who read an entry",
      (draft) => listOf(draft).append(1),
      (draft) => void listOf(draft).get(0),
      false,
    ],
    ["two keys", (draft) => mapOf(draft).set("a", 1), (draft) => mapOf(draft).set("b", 1), false],
    ["one key", (draft) => mapOf(draft).set("a", 1), (draft) => mapOf(draft).set("a", 2), true],
    ["the key -", (draft) => mapOf(draft).set("-", 1), (draft) => mapOf(draft).set("-", 2), true],
    ["a key that was not there", (draft) => mapOf(draft).set("a", 1), (draft) => void mapOf(draft).has("a"), true],
    [
      "a place beside another of its entry",
      (draft) => mapOf(draft).setAt("a/b", "/x", 1),
      (draft) => void mapOf(draft).get("a/b", "/~0c.d"),
      false,
    ],
    [
      "a place that was read",
      (draft) => mapOf(draft).setAt("a/b", "/~0c.d", 1),
      (draft) => void mapOf(draft).get("a/b", "/~0c.d"),
      true,
    ],
    [
      "a key like the beginning of another",
      (draft) => mapOf(draft).set("a", 1),
      (draft) => void mapOf(draft).get("a/b"),
      false,
    ],
    ["all of a slice", (draft) => listOf(draft).replace([]), (draft) => listOf(draft).append(1), true],
  ])("%s", (_, one, two, quarrels) => {
    const [first, second] = [draftOn(NO_STATE), draftOn(NO_STATE)];
    one(first);
    two(second);
    expect(quarrel([first.patch], second.reads, second.writes) !== null).toBe(quarrels);
  });
});

describe("going back", () => {
  const calls = fc.array(fc.array(deed, { maxLength: 4 }), { maxLength: 6 });

  it("makes of state what it was, but for logs and caches, whatever was done and undone before", () => {
    fc.assert(
      fc.property(calls, calls, calls, fc.boolean(), (earlier, first, second, preserveLogs) => {
        const then = patchesFrom(NO_STATE, earlier).now;
        const once = patchesFrom(then, first);
        const back = reverting(once.now, then, once.patches, { slices, preserveLogs });
        if (!back.ok) throw new Error(back.fault.message);
        const undone = patched(once.now, back.patch);
        const twice = patchesFrom(undone, second);
        const since = [...once.patches, back.patch, ...twice.patches];
        const again = reverting(twice.now, then, since, { slices, preserveLogs });
        if (!again.ok) throw new Error(again.fault.message);
        for (const [state, latest] of [
          [undone, once.now],
          [patched(twice.now, again.patch), twice.now],
        ] as const) {
          const cached = since.flat().some(({ path }) => path.startsWith("/workspace_digest"));
          expect(told(state)).toEqual({
            ...told(then),
            ...(preserveLogs && { log: told(latest).log }),
            workspace_digest: cached ? expect.anything() : told(then).workspace_digest,
          });
        }
      }),
    );
  });

  it("finds every difference and no other", () => {
    fc.assert(
      fc.property(calls, calls, (earlier, later) => {
        const before = patchesFrom(NO_STATE, earlier).now;
        const { patches, now } = patchesFrom(before, later);
        const found = differences(before, now, patches);
        const flat = (state: ProjectState) =>
          new Map(
            [...state].flatMap(([name, entries]) =>
              Object.entries(wholeOf(entries)).map(
                ([key, value]) => [pointerTo(`/${name}`, key), canonical(value)] as const,
              ),
            ),
          );
        const [was, is] = [flat(before), flat(now)];
        const expected = [...new Set([...was.keys(), ...is.keys()])].filter((path) => was.get(path) !== is.get(path));
        expect(found.map(({ path }) => path)).toEqual(expected.sort());
        expect(
          found.every(({ path, after }) => is.get(path) === (after === undefined ? after : canonical(after))),
        ).toBe(true);
      }),
    );
  });
});
