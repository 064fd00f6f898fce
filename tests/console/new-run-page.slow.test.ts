import { afterAll, beforeAll, expect, it } from "vitest";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { scenarioEngine } from "./pages-scenario.ts";

describeInBrowser("a new run in a browser", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
  });
  afterAll(() => console?.close());

  it("has a form from the schema of the tool, at both widths and in both themes", () =>
    checkPage(console, "/new?tool=order.place", async (page) => {
      await page.getByLabel("customer").waitFor();
      expect(await page.getByLabel("city").inputValue()).toBe("Rome");
      await page.getByLabel("extra (JSON)").waitFor();
    }));

  it("shows descriptions of others as they are", () =>
    checkPage(console, "/new?tool=model.draft", (page) => page.getByText("U+202E").first().waitFor()));

  it("is checked, simulated and started with the values of the form", async () => {
    const page = await console.open("/new?tool=order.place");
    const check = page.getByRole("button", { name: "Check and simulate" });
    await page.getByLabel("customer").fill("Ana");
    await page.getByLabel("count").fill("4");
    await page.getByLabel("gift").check();
    await page.getByLabel("size").selectOption("large");
    await page.getByLabel("street").fill("Via Roma 1");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByLabel("notes 1", { exact: true }).fill("ring twice");
    await check.click();
    await page.getByText("would succeed").waitFor();
    await page.getByText("12", { exact: true }).waitFor();
    await page.getByText("Title, project, labels and mode").click();
    await page.getByLabel("Title").fill("An order");
    await page.getByRole("button", { name: "Start the run" }).click();
    await page.waitForURL("**/runs/*");
    const run = await console.engine.run(new URL(page.url()).pathname.split("/")[2] as string, { principal: ana });
    const [{ input } = { input: null }] = await run.transcript();
    expect(input).toEqual({
      customer: "Ana",
      count: 4,
      gift: true,
      size: "large",
      address: { street: "Via Roma 1", city: "Rome" },
      notes: ["ring twice"],
    });
    await page.context().close();
  });

  it("says which approvals a call needs, and which rules a plan breaks", async () => {
    const page = await console.open("/new?tool=mail.send");
    await page.getByRole("textbox", { name: "to required" }).fill("li@example.org");
    await page.getByLabel("subject").fill("Hello");
    await page.getByRole("button", { name: "Check and simulate" }).click();
    await page.getByText("would act").waitFor();
    await page.getByText("waits for an approval").waitFor();
    await page.getByRole("tab", { name: "A plan" }).click();
    await page.getByLabel("Plan", { exact: true }).fill('{ "steps": [{ "step_id": "a", "name": "nothing" }] }');
    await page.getByRole("button", { name: "Check and simulate" }).click();
    await page.getByText("The plan breaks these rules:").waitFor();
    await page.context().close();
  });
});
