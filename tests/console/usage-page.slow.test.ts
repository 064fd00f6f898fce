import { afterAll, beforeAll, expect, it } from "vitest";
import { type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { scenarioEngine, seedRuns } from "./pages-scenario.ts";

describeInBrowser("the usage in a browser", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
  });
  afterAll(() => console?.close());

  it("teaches how cost is reported while nothing was spent", async () => {
    const page = await console.open("/usage");
    await page.getByText("Nothing was spent in 30 days").waitFor();
    await page.context().close();
  });

  it("has spending by day, principal and tool, and the budgets, at both widths and in both themes", async () => {
    await seedRuns(console.engine);
    await checkPage(console, "/usage?days=7", async (page) => {
      await page.getByRole("region", { name: "By principal" }).getByText("support-agent").waitFor();
      await page.getByRole("region", { name: "By tool" }).getByText("model.draft").waitFor();
      await page.getByText("$2.00 per tenant and month").waitFor();
      await page.locator("svg.burn-down").first().waitFor();
    });
  });

  it("shows one principal and another unit by the address", async () => {
    const page = await console.open("/usage?by=support-agent&unit=tokens_in");
    await page.locator(".usage-total", { hasText: "812 tokens in" }).waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await expect.poll(() => page.locator(".usage-total").textContent()).not.toBe("812 tokens in");
    await page.context().close();
  });
});
