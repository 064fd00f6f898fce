import { afterAll, beforeAll, expect, it } from "vitest";
import { type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { scenarioEngine, seedRuns } from "./pages-scenario.ts";

describeInBrowser("the tools in a browser", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
    await seedRuns(console.engine);
  });
  afterAll(() => console?.close());

  it("have their guarantee and what they did, at both widths and in both themes", () =>
    checkPage(console, "/tools", async (page) => {
      const row = page.locator("tbody tr", { hasText: "model.draft" });
      await row.getByText("87 %").waitFor();
      await row.getByText("recorded: never silently asked again").waitFor();
    }));

  it("have a page of their own, with the schema, the limits and texts of others as they are", () =>
    checkPage(console, "/tools?tool=model.draft", async (page) => {
      const dialog = page.getByRole("dialog");
      await dialog.getByText("U+202E").first().waitFor();
      await dialog.getByText("$0.60 per user and day").waitFor();
      await dialog.getByRole("link", { name: "Its runs" }).waitFor();
    }));

  it("open and close by the keyboard, and are found by a part of their name", async () => {
    const page = await console.open("/tools");
    await page.getByRole("button", { name: "order.place" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    expect(new URL(page.url()).search).toBe("?tool=order.place");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByPlaceholder("Find a tool").fill("MAIL");
    await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
    await page.context().close();
  });
});
