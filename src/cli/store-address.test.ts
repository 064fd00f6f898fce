import { describe, expect, it } from "vitest";
import { shownAddress, storeAddress } from "./store-address.ts";

describe("store address", () => {
  it("is a path relative to the folder it is written in, or an unchanged URL", () => {
    expect(storeAddress("writ.db", "/home/ana")).toBe("/home/ana/writ.db");
    expect(storeAddress("postgres://db/writ", "/home/ana")).toBe("postgres://db/writ");
    expect(storeAddress("postgresql://db/writ", "/home/ana")).toBe("postgresql://db/writ");
  });

  it.each(["mysql://db/writ", "postgress://db/writ", "https://db/writ", "file:///writ.db"])("refuses %s", (address) => {
    expect(() => storeAddress(address, "/home/ana")).toThrow(/INVALID_INPUT: .* postgres:\/\/ URL/);
  });

  it("refuses a store in memory, which would end with the command", () => {
    expect(() => storeAddress(":memory:", "/home/ana")).toThrow(/INVALID_INPUT: .* ends with the command/);
  });

  it.each([
    ["postgres://ana:secret@db:5432/writ", "postgres://ana@db:5432/writ"],
    ["postgresql://ana:s%40crets@db/writ", "postgresql://ana@db/writ"],
    ["postgres://ana@db/writ", "postgres://ana@db/writ"],
    ["postgres://db:5432/writ", "postgres://db:5432/writ"],
    ["/home/a:b@c/writ.db", "/home/a:b@c/writ.db"],
  ])("prints %s as %s", (address, shown) => {
    expect(shownAddress(address)).toBe(shown);
  });
});
