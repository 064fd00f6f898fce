import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countOperations } from "../../../tests/core/operation-count.ts";
import { defineSlice } from "../../schema/define-slice.ts";
import { canonicalJson } from "../json/canonical-json.ts";
import { pointerTo } from "../json/json-pointer.ts";
import { FaultError } from "../values/fault.ts";
import type { Json, JsonObject } from "../values/json.ts";
import { Draft } from "./draft.ts";
import { findStateConflict, type Patch } from "./patch.ts";
import { applyPatch, EMPTY_STATE, entriesFrom, entriesToJson, type ProjectState } from "./project-state.ts";
import { revertPatch } from "./revert-patch.ts";
import { diffStates } from "./state-difference.ts";

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
/** The values that a schema accepts. */
const anything = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("__proto__"));
type Action = (draft: Draft) => void;
const action: fc.Arbitrary<Action> = fc.oneof(
  anything.map(
    (value): Action =>
      (draft) =>
        listOf(draft).append(value as Json),
  ),
  fc.tuple(fc.nat(5), anything).map(
    ([index, value]): Action =>
      (draft) => {
        const items = listOf(draft);
        if (index < items.size) items.set(index, value as Json);
      },
  ),
  fc.array(anything, { maxLength: 3 }).map(
    (values): Action =>
      (draft) =>
        listOf(draft).replace(values as Json[]),
  ),
  fc.tuple(fc.constantFrom(...keys), anything).map(
    ([key, value]): Action =>
      (draft) =>
        mapOf(draft).set(key, value as Json),
  ),
  fc.constantFrom(...keys).map(
    (key): Action =>
      (draft) =>
        mapOf(draft).delete(key),
  ),
  fc.constantFrom(...keys).map(
    (key): Action =>
      (draft) => {
        const entry = mapOf(draft).get(key);
        if (typeof entry === "object" && entry !== null && !Array.isArray(entry)) mapOf(draft).setAt(key, "/~0c.d", 7);
      },
  ),
  fc.nat(9).map(
    (number): Action =>
      (draft) =>
        draft.dispatch("counted", number),
  ),
  fc.constantFrom("x", "y").map(
    (key): Action =>
      (draft) =>
        (draft.slice(cache) as ReturnType<typeof mapOf>).set(key, 1),
  ),
);
const listOf = (draft: Draft) => draft.slice(list) as Extract<ReturnType<Draft["slice"]>, { append: unknown }>;
const mapOf = (draft: Draft) => draft.slice(map) as Extract<ReturnType<Draft["slice"]>, { delete: unknown }>;

/** Returns a state as JSON, with the initial entries of slices that were never written. */
function toJson(state: ProjectState): JsonObject {
  return Object.fromEntries(
    slices.map((slice) => [slice.name, entriesToJson(state.get(slice.name) ?? entriesFrom(slice.initial, "1"))]),
  );
}

const patchesFrom = (state: ProjectState, calls: readonly (readonly Action[])[]) => {
  const patches: Patch[] = [];
  let now = state;
  for (const actions of calls) {
    const draft = draftOn(now);
    for (const work of actions) work(draft);
    patches.push(draft.patch);
    now = applyPatch(now, draft.patch);
  }
  return { patches, now };
};

describe("a draft", () => {
  it("gives a patch that turns the base into the drafted state, and does not change the base", () => {
    fc.assert(
      fc.property(fc.array(action), fc.array(action), (earlier, actions) => {
        const base = patchesFrom(EMPTY_STATE, [earlier]).now;
        const text = JSON.stringify(toJson(base));
        const draft = draftOn(base);
        for (const work of actions) work(draft);
        const after = applyPatch(base, JSON.parse(JSON.stringify(draft.patch)) as Patch);
        expect(toJson(after).list).toEqual(listOf(draft).all());
        expect(Object.entries(toJson(after).map as JsonObject)).toEqual(mapOf(draft).all());
        expect(JSON.stringify(toJson(base))).toBe(text);
        expect(draft.fault).toBeNull();
      }),
    );
  });

  it("publishes only its log entries when the call fails", () => {
    fc.assert(
      fc.property(fc.array(action), (actions) => {
        const draft = draftOn(EMPTY_STATE);
        for (const work of actions) work(draft);
        const { log: logged, ...rest } = toJson(applyPatch(EMPTY_STATE, draft.logged));
        const { log: _log, ...before } = toJson(EMPTY_STATE);
        expect(rest).toEqual(before);
        expect(logged).toEqual(toJson(applyPatch(EMPTY_STATE, draft.patch)).log);
      }),
    );
  });

  it("returns entries that cannot be changed in place", () => {
    const draft = draftOn(EMPTY_STATE);
    const given = { deep: { er: [1] } };
    listOf(draft).append(given);
    const entry = listOf(draft).latest() as unknown as typeof given;
    expect(() => entry.deep.er.push(2)).toThrow(TypeError);
    given.deep.er.push(2);
    expect(listOf(draft).latest()).toEqual({ deep: { er: [1] } });
  });

  it("keeps sessions apart", () => {
    const one = draftOn(EMPTY_STATE, true, "one");
    (one.slice(mine) as ReturnType<typeof mapOf>).set("a", 1);
    const state = applyPatch(EMPTY_STATE, one.patch);
    const valueIn = (session: string) =>
      (draftOn(state, false, session).slice(mine) as ReturnType<typeof mapOf>).get("a");
    expect([valueIn("one"), valueIn("two"), valueIn("")]).toEqual([1, undefined, undefined]);
  });

  it.each<[string, string, (draft: Draft) => void]>([
    ["a reducer that throws", "REDUCER_FAILED", (draft) => draft.dispatch("broken", null)],
    ["an event without a reducer", "STATE_INVALID", (draft) => draft.dispatch("unknown", null)],
    ["an entry that does not fit", "STATE_INVALID", (draft) => draft.dispatch("counted", "one")],
    [
      "a log that is rewritten",
      "STATE_FORBIDDEN",
      (draft) => (draft.slice(log) as ReturnType<typeof listOf>).replace([]),
    ],
    ["an index that does not exist", "STATE_INVALID", (draft) => listOf(draft).set(9, 1)],
    ["an entry that does not exist", "STATE_INVALID", (draft) => mapOf(draft).setAt("unknown", "/a", 1)],
    ["an invalid pointer", "STATE_INVALID", (draft) => mapOf(draft).get("a/b", "no")],
  ])("records %s as a fault, even if the handler catches the error", (_, code, work) => {
    const draft = draftOn(EMPTY_STATE);
    expect(() => work(draft)).toThrow(FaultError);
    expect(draft.fault).toMatchObject({ code });
  });

  it("refuses writes if it is read-only or its call has ended", () => {
    const readOnly = draftOn(EMPTY_STATE, false);
    expect(() => listOf(readOnly).append(1)).toThrow(/whose effect is writes/);
    const closed = draftOn(EMPTY_STATE);
    closed.close();
    expect(() => listOf(closed).append(1)).toThrow(/after its call had ended/);
    expect(closed.patch).toEqual([]);
  });

  it("costs as much on a million entries as on ten", () => {
    const work = (count: number) => {
      const state = applyPatch(EMPTY_STATE, [
        { op: "init", path: "/list", v: "1", value: Array.from({ length: count }, () => 0) },
      ]);
      return countOperations(() => {
        const draft = draftOn(state);
        listOf(draft).append(1);
        applyPatch(state, draft.patch);
      });
    };
    // A path through four levels of 32 is copied, once for the draft and once when it is published.
    expect(work(1_000_000)).toBeLessThan(work(10) + 2 * 4 * 32);
  });
});

describe("two drafts of one state", () => {
  it("do not conflict only if the second gives the same result on top of the first", () => {
    fc.assert(
      fc.property(fc.array(action), fc.array(action), fc.array(action), (earlier, ones, twos) => {
        const base = patchesFrom(EMPTY_STATE, [earlier]).now;
        const [one, two] = [draftOn(base), draftOn(base)];
        for (const work of ones) work(one);
        for (const work of twos) work(two);
        fc.pre(findStateConflict([one.patch], two.reads, two.writes) === null);
        const merged = applyPatch(applyPatch(base, one.patch), two.patch);
        const serial = draftOn(applyPatch(base, one.patch));
        for (const work of twos) work(serial);
        expect(toJson(merged)).toEqual(toJson(applyPatch(applyPatch(base, one.patch), serial.patch)));
      }),
      { numRuns: 200 },
    );
  });

  it.each<[string, Action, Action, boolean]>([
    ["two appends", (draft) => listOf(draft).append(1), (draft) => listOf(draft).append(2), false],
    ["an append and a read of the size", (draft) => listOf(draft).append(1), (draft) => void listOf(draft).size, true],
    [
      "an append and a read of an absent entry",
      (draft) => listOf(draft).append(1),
      (draft) => void listOf(draft).get(1),
      true,
    ],
    [
      "an append and a read of an existing entry",
      (draft) => listOf(draft).append(1),
      (draft) => void listOf(draft).get(0),
      false,
    ],
    ["writes of two keys", (draft) => mapOf(draft).set("a", 1), (draft) => mapOf(draft).set("b", 1), false],
    ["two writes of one key", (draft) => mapOf(draft).set("a", 1), (draft) => mapOf(draft).set("a", 2), true],
    ["two writes of the key -", (draft) => mapOf(draft).set("-", 1), (draft) => mapOf(draft).set("-", 2), true],
    [
      "a write and a read of an absent key",
      (draft) => mapOf(draft).set("a", 1),
      (draft) => void mapOf(draft).has("a"),
      true,
    ],
    [
      "a write and a read of two fields of one entry",
      (draft) => mapOf(draft).setAt("a/b", "/x", 1),
      (draft) => void mapOf(draft).get("a/b", "/~0c.d"),
      false,
    ],
    [
      "a write and a read of one field",
      (draft) => mapOf(draft).setAt("a/b", "/~0c.d", 1),
      (draft) => void mapOf(draft).get("a/b", "/~0c.d"),
      true,
    ],
    [
      "a key that is a prefix of another",
      (draft) => mapOf(draft).set("a", 1),
      (draft) => void mapOf(draft).get("a/b"),
      false,
    ],
    [
      "a write of the whole slice and an append",
      (draft) => listOf(draft).replace([]),
      (draft) => listOf(draft).append(1),
      true,
    ],
  ])("conflict exactly if one invalidates the other: %s", (_, one, two, conflicts) => {
    const [first, second] = [draftOn(EMPTY_STATE), draftOn(EMPTY_STATE)];
    one(first);
    two(second);
    expect(findStateConflict([first.patch], second.reads, second.writes) !== null).toBe(conflicts);
  });
});

describe("reverting", () => {
  const calls = fc.array(fc.array(action, { maxLength: 4 }), { maxLength: 6 });

  it("restores the earlier state except logs and caches, also after earlier reverts", () => {
    fc.assert(
      fc.property(calls, calls, calls, fc.boolean(), (earlier, first, second, preserveLogs) => {
        const then = patchesFrom(EMPTY_STATE, earlier).now;
        const once = patchesFrom(then, first);
        const back = revertPatch(once.now, then, once.patches, { slices, preserveLogs });
        if (!back.ok) throw new Error(back.fault.message);
        const undone = applyPatch(once.now, back.patch);
        const twice = patchesFrom(undone, second);
        const since = [...once.patches, back.patch, ...twice.patches];
        const again = revertPatch(twice.now, then, since, { slices, preserveLogs });
        if (!again.ok) throw new Error(again.fault.message);
        for (const [state, latest] of [
          [undone, once.now],
          [applyPatch(twice.now, again.patch), twice.now],
        ] as const) {
          const cached = since.flat().some(({ path }) => path.startsWith("/workspace_digest"));
          expect(toJson(state)).toEqual({
            ...toJson(then),
            ...(preserveLogs && { log: toJson(latest).log }),
            workspace_digest: cached ? expect.anything() : toJson(then).workspace_digest,
          });
        }
      }),
    );
  });

  it("can be compared: every difference is found and no other", () => {
    fc.assert(
      fc.property(calls, calls, (earlier, later) => {
        const before = patchesFrom(EMPTY_STATE, earlier).now;
        const { patches, now } = patchesFrom(before, later);
        const found = diffStates(before, now, patches);
        const flat = (state: ProjectState) =>
          new Map(
            [...state].flatMap(([name, entries]) =>
              Object.entries(entriesToJson(entries)).map(
                ([key, value]) => [pointerTo(`/${name}`, key), canonicalJson(value)] as const,
              ),
            ),
          );
        const [was, is] = [flat(before), flat(now)];
        const expected = [...new Set([...was.keys(), ...is.keys()])].filter((path) => was.get(path) !== is.get(path));
        expect(found.map(({ path }) => path)).toEqual(expected.sort());
        expect(
          found.every(({ path, after }) => is.get(path) === (after === undefined ? after : canonicalJson(after))),
        ).toBe(true);
      }),
    );
  });
});
