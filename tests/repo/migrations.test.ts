import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { postgresMigrations } from "../../src/store/postgres/postgres-migrations.ts";
import { sqliteMigrations } from "../../src/store/sqlite/sqlite-migrations.ts";
import { repositoryPath } from "./repository-path.ts";

describe.each([
  ["sqlite", sqliteMigrations],
  ["postgres", postgresMigrations],
] as const)("migrations of %s", (store, migrations) => {
  it("contain every file of their folder, in order", () => {
    const files = readdirSync(repositoryPath("src", "store", store, "migrations")).toSorted();
    expect(migrations.map(({ name }) => `${name}.ts`)).toEqual(files);
  });

  it("are numbered from 1", () => {
    expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => index + 1));
    for (const { number, name } of migrations) expect(Number.parseInt(name, 10)).toBe(number);
  });
});
