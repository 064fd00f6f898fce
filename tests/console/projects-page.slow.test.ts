import { afterAll, beforeAll, expect, it } from "vitest";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { hostileName, scenarioEngine, seedProjects } from "./pages-scenario.ts";

describeInBrowser("the projects in a browser", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
  });
  afterAll(() => console?.close());

  const versionOf = async () => (await console.engine.state({ principal: ana, project: "website" })).version;

  it("teach how a project gets a state while there are none", async () => {
    const page = await console.open("/projects");
    await page.getByText("No project has a state yet").waitFor();
    await page.context().close();
  });

  it("are listed with their versions, at both widths and in both themes", async () => {
    await seedProjects(console.engine);
    await checkPage(console, "/projects", (page) => page.getByText("website").waitFor());
  });

  it("show texts of others as they are, also as keys and values of a state", () =>
    checkPage(console, `/projects/${encodeURIComponent(hostileName)}`, async (page) => {
      await page.getByText("U+202E").first().waitFor();
    }));

  it("show any version, compare two, and keep both in the address", async () => {
    const page = await console.open("/projects/website");
    await page.getByText("within 14 days").first().waitFor();
    await page.getByRole("button", { name: /^2 / }).click();
    await page.locator(".diff-removed", { hasText: "10" }).waitFor();
    await page.goto(`${console.url}/projects/website?version=5&against=1`);
    await page.locator(".diff-added", { hasText: "15" }).waitFor();
    await page.goto(`${console.url}/projects/website?version=3&view=state`);
    await page.getByLabel("Slice facts").getByText("owner").waitFor();
    expect(await page.getByLabel("Slice facts").getByText("terms").count()).toBe(0);
    await page.context().close();
  });

  it("restore a version as a new one, and lock and open a project", async () => {
    const before = await versionOf();
    const page = await console.open("/projects/website?version=1");
    await page.getByRole("button", { name: "Restore this version…" }).click();
    await page.getByRole("button", { name: "Restore", exact: true }).click();
    await page.waitForURL("**/runs/*");
    await expect.poll(versionOf).toBe(before + 1);
    await page.goto(`${console.url}/projects/website`);
    await page.getByRole("button", { name: "Lock…" }).click();
    await page.getByLabel("Reason").fill("audit");
    await page.getByRole("button", { name: "Lock", exact: true }).click();
    await page.getByRole("button", { name: "Open again…" }).waitFor();
    expect(await console.engine.projects.closure("website", { principal: ana })).toMatchObject({ reason: "audit" });
    await page.context().close();
  });

  it("fork a run after the call that made a version", async () => {
    const page = await console.open("/projects/website?version=2");
    await page.getByRole("button", { name: "Fork from here…" }).click();
    await page.getByRole("button", { name: "Fork", exact: true }).click();
    await page.waitForURL("**/runs/*");
    await page.context().close();
  });
});
