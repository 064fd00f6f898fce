import { afterAll, beforeAll, expect, it } from "vitest";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { robot, scenarioEngine, seedRuns } from "./pages-scenario.ts";

describeInBrowser("the list of runs in a browser", () => {
  let console: ConsoleUnderTest;
  let seeded: Awaited<ReturnType<typeof seedRuns>>;
  const rows = ".run-row";
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
    seeded = await seedRuns(console.engine);
  });
  afterAll(() => console?.close());

  const start = (topic: string, title: string) =>
    console.engine.submit(
      { steps: [{ step_id: "a", name: "model.draft", payload: { topic } }] },
      { principal: robot, title },
    );
  const statusOf = async (run_id: string) =>
    (await (await console.engine.run(run_id, { principal: ana })).now()).status;

  it("shows texts of others as they are, at both widths and in both themes", () =>
    checkPage(console, "/runs", async (page) => {
      await page.locator(rows).nth(9).waitFor();
      await page.getByText("U+202E").first().waitFor();
    }));

  it("keeps its filters in the address, also after the page is loaded again", async () => {
    const page = await console.open("/runs?status=waiting&project=hr");
    await page.getByText("Welcome Li").waitFor();
    expect(await page.locator(rows).count()).toBe(2);
    await page.getByRole("button", { name: "Filters" }).click();
    await page.getByRole("textbox", { name: "Tool" }).fill("model.draft");
    await page.keyboard.press("Enter");
    await page.getByText("No run fits these filters").waitFor();
    expect(new URL(page.url()).search).toBe("?status=waiting&project=hr&tool=model.draft");
    await page.reload();
    await page.getByText("No run fits these filters").waitFor();
    await page.getByRole("button", { name: /Tool: model.draft/ }).click();
    await page.getByText("Welcome Li").waitFor();
    await page.getByRole("button", { name: /^Completed/ }).click();
    await page.getByText("No run fits these filters").waitFor();
    await page.goBack();
    await page.getByText("Welcome Li").waitFor();
    await page.context().close();
  });

  it("lists only the runs that the person can decide", async () => {
    const page = await console.open("/runs?decidable=1");
    await page.getByText("Welcome Li").waitFor();
    expect(await page.locator(rows).count()).toBe(2);
    await page.context().close();
  });

  it("shows a new run by itself, and its new status", async () => {
    const page = await console.open("/runs");
    await page.locator(rows).first().waitFor();
    const run = await start("live", "A run that appears by itself");
    await page.getByText("A run that appears by itself").waitFor();
    await run.result();
    await page.locator(rows, { hasText: "A run that appears by itself" }).getByText("completed").waitFor();
    await page.context().close();
  });

  it("opens a run by the keyboard alone", async () => {
    const page = await console.open("/runs?status=failed");
    await page.getByText("Draft that fails").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/runs/${seeded.failed}`);
    await page.context().close();
  });

  it("cancels chosen runs with a reason, and says which were refused", async () => {
    const held = await console.hold({ to: "cancel@example.org", subject: "x" });
    const page = await console.open("/runs");
    await page
      .locator(rows, { has: page.locator(`a[href="/runs/${held.run_id}"]`) })
      .getByRole("checkbox")
      .check();
    await page.getByText("1 chosen").waitFor();
    await page.getByRole("button", { name: "Cancel…" }).click();
    await page.getByLabel("Reason (optional)").fill("not needed");
    await page.getByRole("button", { name: "Cancel 1 run" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => statusOf(held.run_id)).toBe("cancelled");
    await page.locator(rows, { hasText: "Draft: welcome" }).getByRole("checkbox").check();
    await page.getByRole("button", { name: "Resume…" }).click();
    await page.getByRole("button", { name: "Resume 1 run" }).click();
    await page.getByText("0 of 1 runs were resumed").waitFor();
    await page.context().close();
  });
});
