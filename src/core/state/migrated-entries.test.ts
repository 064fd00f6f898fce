import { describe, expect, it } from "vitest";
import { defineSlice } from "../../schema/define-slice.ts";
import type { Json } from "../values/json.ts";
import { migratedEntries } from "./migrated-entries.ts";
import { entriesFrom, entriesToJson } from "./project-state.ts";

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

const resultOf = (found: ReturnType<typeof migratedEntries>) =>
  found.ok ? { v: found.entries.v, whole: entriesToJson(found.entries) } : found.fault;

describe("stored entries", () => {
  it("are returned unchanged if the slice has the same version", () => {
    const stored = entriesFrom([1], "2");
    expect(
      migratedEntries(
        notes(() => 0),
        stored,
      ),
    ).toEqual({ ok: true, entries: stored });
  });

  it("of an earlier version are migrated, each with its key", () => {
    const list = migratedEntries(
      notes((entry, at) => (at === 1 ? Number(entry) : -1)),
      entriesFrom(["7", "8"], "1"),
    );
    expect(resultOf(list)).toEqual({ v: "2", whole: [-1, 8] });
    const map = migratedEntries(
      beds((entry, key) => (key === "1" ? Number(entry) : -1)),
      entriesFrom({ 1: "7", a: 0 }, "1"),
    );
    expect(resultOf(map)).toEqual({ v: "2", whole: { 1: 7, a: -1 } });
  });

  it("are migrated once per slice, however often they are read", () => {
    const stored = entriesFrom([1], "1");
    let migrations = 0;
    const slice = notes(() => {
      migrations += 1;
      return migrations;
    });
    expect(migratedEntries(slice, stored)).toBe(migratedEntries(slice, stored));
    expect(migrations).toBe(1);
    expect(
      resultOf(
        migratedEntries(
          notes(() => 9),
          stored,
        ),
      ),
    ).toEqual({ v: "2", whole: [9] });
  });

  it("are refused without a migration", () => {
    const difference = "notes is stored as a list of version 7, here it is a list of version 2";
    const message = `${difference}; declare the old version, add a migration of its entries, or rename the new slice`;
    expect(
      resultOf(
        migratedEntries(
          notes(() => 0),
          entriesFrom([1], "7"),
        ),
      ),
    ).toEqual({ code: "SLICE_CHANGED", message });
    expect(
      resultOf(
        migratedEntries(
          notes(() => 0),
          entriesFrom([1], "constructor"),
        ),
      ),
    ).toMatchObject({ code: "SLICE_CHANGED" });
  });

  it.each(["1", "2"])("of another shape are refused, in version %s", (version) => {
    expect(
      resultOf(
        migratedEntries(
          notes(() => 0),
          entriesFrom({ a: 1 }, version),
        ),
      ),
    ).toMatchObject({
      code: "SLICE_CHANGED",
      message: expect.stringContaining(`as a map of version ${version}, here it is a list of version 2; declare the`),
    });
  });

  it.each<[string, Migrate, string]>([
    ["does not fit the schema", () => "one", "must be integer"],
    ["breaks the invariant", () => 13, "it is unlucky"],
    ["throws an error", throwing(new Error("no idea")), "no idea"],
    ["throws a text", throwing("no idea"), "a value that is not an Error was thrown"],
  ])("are all refused if the migration of one %s", (_, migrate, why) => {
    const slice = notes((entry, at) => (at === 1 ? migrate(entry, at) : entry), {
      invariant: (entry) => (entry === 13 ? "is unlucky" : null),
    });
    const found = resultOf(migratedEntries(slice, entriesFrom([1, 2], "1")));
    expect(found).toMatchObject({ code: "SLICE_CHANGED", message: expect.stringContaining(why) });
    expect(found).toMatchObject({ message: expect.stringContaining("; entry 1 cannot be migrated: ") });
  });
});
