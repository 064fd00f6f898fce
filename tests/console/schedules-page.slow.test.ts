import { afterAll, beforeAll, expect, it } from "vitest";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { scenarioEngine, seedSchedules } from "./pages-scenario.ts";

describeInBrowser("the schedules in a browser", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
  });
  afterAll(() => console?.close());

  const listed = () => console.engine.schedules.list({ principal: ana });

  it("are made in a form, which says why the server refuses one", async () => {
    const page = await console.open("/schedules");
    await page.getByText("Nothing is scheduled").waitFor();
    await page.getByRole("button", { name: "New schedule" }).click();
    await page.getByLabel("Name").fill("Night report");
    await page.getByLabel("Cron: minute, hour, day, month, weekday").fill("99 9 * * *");
    const plan = { steps: [{ step_id: "a", name: "model.draft", payload: { topic: "x" } }] };
    await page.getByLabel("Plan", { exact: true }).fill(JSON.stringify(plan));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Cron: minute, hour, day, month, weekday").fill("0 3 * * *");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("cell", { name: "Night report" }).waitFor();
    expect(await listed()).toMatchObject([{ schedule: "Night report", cron: "0 3 * * *", status: "on" }]);
    await page.context().close();
  });

  it("pause and continue", async () => {
    const page = await console.open("/schedules");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused").waitFor();
    expect(await listed()).toMatchObject([{ status: "paused" }]);
    await page.context().close();
  });

  it("show texts of others as they are, at both widths and in both themes", async () => {
    await seedSchedules(console.engine);
    await checkPage(console, "/schedules", (page) => page.getByText("Morning report").waitFor());
  });
});
