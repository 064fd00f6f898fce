import { afterAll, beforeAll, expect, it } from "vitest";
import { consolePaths } from "../../src/http-api/page-paths.ts";
import { type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkScreens, narrowScreens } from "./page-checks.ts";
import { pageScripts } from "./page-scripts.ts";

const scriptBytesMax = 80 * 1024;

it("the scripts that a page loads stay within their size, compressed", () => {
  const pages = pageScripts();
  expect(pages.length).toBeGreaterThan(10);
  expect(pages.filter(({ bytes }) => bytes > scriptBytesMax)).toEqual([]);
});

describeInBrowser("every page of the console", () => {
  let console: ConsoleUnderTest;
  let paths: readonly string[];
  beforeAll(async () => {
    console = await serveConsole();
    const { gate_id, run_id } = await console.hold({ to: "a\u202egro.live@x", subject: "<b>", body: "x ".repeat(400) });
    const doubt = await console.doubt();
    const ids: Readonly<Record<string, string>> = { gates: gate_id, runs: run_id, sessions: "none", projects: "none" };
    const pages = consolePaths.map((path) => path.replace(":id", ids[path.split("/")[1] ?? ""] ?? "none"));
    paths = [...pages, `/?item=${encodeURIComponent(`${doubt.run_id}/${doubt.step_id}`)}`, "/nowhere"];
  });
  afterAll(() => console?.close());

  it("has no serious finding of axe, and fits its window", async () => {
    const page = await console.open("/");
    for (const path of paths) {
      await page.goto(`${console.url}${path}`);
      await page.locator("main h1, main h2").first().waitFor();
      await page.getByText("Reading …").first().waitFor({ state: "detached" });
      await checkScreens(page, narrowScreens);
    }
    await page.context().close();
  });
});
