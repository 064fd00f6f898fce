import { afterAll, beforeAll, expect, it } from "vitest";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { hostile, scenarioEngine } from "./pages-scenario.ts";

describeInBrowser("the workers in a browser", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
  });
  afterAll(() => console?.close());

  it("are listed with their tools, at both widths and in both themes", async () => {
    await console.engine.halts.set({ principal: ana, reason: hostile });
    await checkPage(console, "/workers", async (page) => {
      await page.getByText("mail.send@1").waitFor();
      await page.getByText("U+202E").waitFor();
    });
    await console.engine.halts.lift({ principal: ana });
  });

  it("stop new calls with a reason, and start again", async () => {
    const page = await console.open("/workers");
    await page.getByRole("button", { name: "Stop new calls…" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("button", { name: "Stop new calls" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Reason").fill("a strange mail");
    await dialog.getByRole("button", { name: "Stop new calls" }).click();
    await page.getByRole("cell", { name: "a strange mail" }).waitFor();
    expect(await console.engine.halts.list({ principal: ana })).toMatchObject([{ reason: "a strange mail" }]);
    await page.getByRole("button", { name: "Lift…" }).click();
    await dialog.getByRole("button", { name: "Lift the halt" }).click();
    await page.getByText("No halt is in force").waitFor();
    expect(await console.engine.halts.list({ principal: ana })).toEqual([]);
    await page.context().close();
  });
});
