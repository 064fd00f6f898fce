import { expect, it } from "vitest";
import { consolePaths, demoPaths } from "../../src/http-api/page-paths.ts";
import { pages } from "./pages.ts";

it("every page is at a path that the server answers, so that its address survives a reload", () => {
  expect(pages.map(({ path }) => path).sort()).toEqual([...consolePaths, ...demoPaths].sort());
});
