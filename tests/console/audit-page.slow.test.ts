import { afterAll, beforeAll, expect, it } from "vitest";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { hostile, scenarioEngine, seedRuns } from "./pages-scenario.ts";

describeInBrowser("the audit in a browser", () => {
  let console: ConsoleUnderTest;
  let failed = "";
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
    ({ failed } = await seedRuns(console.engine));
    await console.engine.retain({ principal: ana, endedBefore: 1, reason: hostile });
  });
  afterAll(() => console?.close());

  it("verifies the whole record, at both widths and in both themes", () =>
    checkPage(console, "/audit", async (page) => {
      await page.getByRole("button", { name: "Verify the record" }).click();
      await page.getByText("The record is unchanged and complete").waitFor();
      await page.getByText("U+202E").waitFor();
    }));

  it("verifies one run by the address, and says if there is none", async () => {
    const page = await console.open(`/audit?run=${failed}`);
    await page.getByRole("button", { name: "Verify the record" }).click();
    await page.getByText(/ 1 journal,/).waitFor();
    await page.getByLabel("Run (empty: all runs)").fill("run_nothing");
    await page.getByRole("button", { name: "Verify the record" }).click();
    expect(await page.getByRole("alert").textContent()).toContain("RUN_NOT_FOUND");
    await page.context().close();
  });
});
