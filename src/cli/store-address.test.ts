import { describe, expect, it } from "vitest";
import { shownAddress, storeAddress } from "./store-address.ts";

describe("the address of a store", () => {
  it("is a path from where it was written, or a URL as it is", () => {
    expect(storeAddress("writ.db", "/home/ana")).toBe("/home/ana/writ.db");
    expect(storeAddress("postgres://db/writ", "/home/ana")).toBe("postgres://db/writ");
    expect(storeAddress("postgresql://db/writ", "/home/ana")).toBe("postgresql://db/writ");
  });

  it.each([
    ["postgres://ana:secret@db:5432/writ", "postgres://ana@db:5432/writ"],
    ["postgresql://ana:s%40crets@db/writ", "postgresql://ana@db/writ"],
    ["postgres://ana@db/writ", "postgres://ana@db/writ"],
    ["postgres://db:5432/writ", "postgres://db:5432/writ"],
    ["/home/a:b@c/writ.db", "/home/a:b@c/writ.db"],
  ])("%s is shown as %s", (address, shown) => {
    expect(shownAddress(address)).toBe(shown);
  });
});
