import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import type { Json } from "../json/json.ts";
import { entriesFrom, wholeOf } from "./project-state.ts";
import { currentEntries } from "./slice-version.ts";

type Migrate = (entry: Json, key: string | number) => Json;

const notes = (migrate: Migrate, more: { invariant?: (entry: unknown) => string | null } = {}) =>
  defineSlice({
    name: "notes",
    version: "2",
    shape: "list",
    entry: { type: "integer" },
    migrations: { 1: migrate },
    ...more,
  });
const beds = (migrate: Migrate) =>
  defineSlice({ name: "beds", version: "2", shape: "map", entry: { type: "integer" }, migrations: { 1: migrate } });

const throwing = (thrown: unknown) => (): never => {
  throw thrown;
};

const made = (found: ReturnType<typeof currentEntries>) =>
  found.ok ? { v: found.entries.v, whole: wholeOf(found.entries) } : found.fault;

describe("entries on record", () => {
  it("are as they are, if the slice is what it was", () => {
    const kept = entriesFrom([1], "2");
    expect(
      currentEntries(
        notes(() => 0),
        kept,
      ),
    ).toEqual({ ok: true, entries: kept });
  });

  it("of an earlier version are what the slice makes of them, each told where it is", () => {
    const list = currentEntries(
      notes((entry, at) => (at === 1 ? Number(entry) : -1)),
      entriesFrom(["7", "8"], "1"),
    );
    expect(made(list)).toEqual({ v: "2", whole: [-1, 8] });
    const map = currentEntries(
      beds((entry, key) => (key === "1" ? Number(entry) : -1)),
      entriesFrom({ 1: "7", a: 0 }, "1"),
    );
    expect(made(map)).toEqual({ v: "2", whole: { 1: 7, a: -1 } });
  });

  it("are rewritten once, however often they are looked at, and by each slice as it says", () => {
    const kept = entriesFrom([1], "1");
    let asked = 0;
    const slice = notes(() => {
      asked += 1;
      return asked;
    });
    expect(currentEntries(slice, kept)).toBe(currentEntries(slice, kept));
    expect(asked).toBe(1);
    expect(
      made(
        currentEntries(
          notes(() => 9),
          kept,
        ),
      ),
    ).toEqual({ v: "2", whole: [9] });
  });

  it("stay what they are where nobody says what they would be", () => {
    const is = "notes is on record as a list of version 7, here it is a list of version 2";
    const message = `${is}; declare it as it was, say how its entries are migrated, or give the new one another name`;
    expect(
      made(
        currentEntries(
          notes(() => 0),
          entriesFrom([1], "7"),
        ),
      ),
    ).toEqual({ code: "SLICE_CHANGED", message });
    expect(
      made(
        currentEntries(
          notes(() => 0),
          entriesFrom([1], "constructor"),
        ),
      ),
    ).toMatchObject({ code: "SLICE_CHANGED" });
  });

  it.each(["1", "2"])("of another shape are not guessed at, of version %s", (version) => {
    expect(
      made(
        currentEntries(
          notes(() => 0),
          entriesFrom({ a: 1 }, version),
        ),
      ),
    ).toMatchObject({
      code: "SLICE_CHANGED",
      message: expect.stringContaining(`as a map of version ${version}, here it is a list of version 2; declare it`),
    });
  });

  it.each<[string, Migrate, string]>([
    ["does not fit", () => "one", "must be integer"],
    ["may not be", () => 13, "it is unlucky"],
    ["cannot be made", throwing(new Error("no idea")), "no idea"],
    ["cannot be made, without a word", throwing("no idea"), "something that is no error was thrown"],
  ])("are refused as a whole where one of them %s", (_, migrate, why) => {
    const slice = notes((entry, at) => (at === 1 ? migrate(entry, at) : entry), {
      invariant: (entry) => (entry === 13 ? "is unlucky" : null),
    });
    const found = made(currentEntries(slice, entriesFrom([1, 2], "1")));
    expect(found).toMatchObject({ code: "SLICE_CHANGED", message: expect.stringContaining(why) });
    expect(found).toMatchObject({ message: expect.stringContaining("; entry 1 cannot be migrated: ") });
  });
});
