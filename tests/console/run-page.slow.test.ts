import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { collectEvents } from "../engine/scripted-tool.ts";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { checkPage } from "./page-checks.ts";
import { type RunScenarios, runScenarios, scenarioEngine } from "./run-scenarios-fixture.ts";

describeInBrowser("the page of a run in a browser", () => {
  let console: ConsoleUnderTest;
  let runs: RunScenarios;
  beforeAll(async () => {
    console = await serveConsole(scenarioEngine());
    runs = runScenarios(console.engine);
  });
  afterAll(() => console?.close());

  /** Opens a path, and closes the tab when the test has ended. */
  async function withPage(path: string, use: (page: Page) => Promise<void>, options = {}): Promise<void> {
    const page = await console.open(path, options);
    await use(page);
    await page.context().close();
  }

  const step = (page: Page, name: string) => page.getByRole("complementary", { name: `Step ${name}` });
  const eventsOf = async (run_id: string, type: Parameters<typeof collectEvents>[1]) =>
    collectEvents(await console.engine.run(run_id, { principal: ana }), type);

  it("says what the run waits for, and shows each step with its state", () =>
    runs.submit("held").then((run_id) =>
      withPage(`/runs/${run_id}`, async (page) => {
        await page.getByRole("heading", { name: "Welcome Ana" }).waitFor();
        await page.getByText("A call waits for the decision of a person.").waitFor();
        await page.getByRole("link", { name: /^send mail\.send.*waits for a person$/ }).waitFor();
        expect(await page.getByRole("list", { name: "Steps of the run" }).getByRole("listitem").count()).toBe(6);
        expect(await page.getByText("$0.00312").count()).toBe(1);
      }),
    ));

  it("switches its views by buttons and keys, and keeps the place after a reload", async () => {
    const run_id = await runs.approved("held");
    await withPage(`/runs/${run_id}`, async (page) => {
      await page.getByRole("tab", { name: "Waterfall" }).click();
      expect(await page.getByRole("list", { name: "Times of the steps" }).getByRole("listitem").count()).toBe(6);
      await page.keyboard.press("s");
      await page.getByText("approved by ana (known to us)").waitFor();
      await page.keyboard.press("j");
      await step(page, "find").waitFor();
      expect(page.url()).toContain("view=story&step=find");
      await page.reload();
      await step(page, "find").waitFor();
      expect(await page.getByRole("tab", { name: "Story" }).getAttribute("aria-selected")).toBe("true");
      await page.keyboard.press("Escape");
      await step(page, "find").waitFor({ state: "detached" });
    });
  });

  it("opens a step from the graph, and says why its call was allowed, with its receipt", async () => {
    const run_id = await runs.approved("held");
    await withPage(`/runs/${run_id}`, async (page) => {
      await page.getByRole("link", { name: /^send mail\.send/ }).click();
      const drawer = step(page, "send");
      await drawer.getByText("by the rule mode").waitFor();
      await drawer.getByText("known to us").first().waitFor();
      await drawer.getByText("a person approved exactly this call").last().waitFor();
      await drawer.getByText(/^event \d+$/).waitFor();
      const outside = drawer.locator("details", { hasText: "Changes outside" });
      await outside.getByText("sent mail").waitFor();
      await outside.getByText("U+202E").waitFor();
      await drawer.getByRole("region", { name: "Input" }).getByText("ana@example.org").first().waitFor();
      await page.goBack();
      await drawer.waitFor({ state: "detached" });
    });
  });

  it("shows markup and hidden characters of others as text, in every view", async () => {
    const run_id = await runs.submit("hostile");
    await withPage(`/runs/${run_id}?step=show`, async (page) => {
      await step(page, "show").getByText("<img src=x").first().waitFor();
      for (const view of ["Graph", "Waterfall", "Story"]) {
        await page.getByRole("tab", { name: view }).click();
        expect(await page.locator("main img, main script").count()).toBe(0);
      }
      await page.getByRole("button", { name: "JSON" }).click();
      await page.getByRole("dialog").getByRole("region", { name: "Journal" }).waitFor();
      expect(await page.title()).not.toBe("owned");
      expect(await page.getByText("U+202E").count()).toBeGreaterThan(3);
      expect(await page.locator("main").innerText()).not.toContain("\u202E");
    });
  });

  it("shows an output of megabytes in parts, and bytes as an image", async () => {
    const run_id = await runs.submit("big");
    await withPage(`/runs/${run_id}?step=read`, async (page) => {
      const output = step(page, "read").getByRole("region", { name: "Output" });
      await output.getByRole("button", { name: "more characters" }).waitFor();
      expect((await output.innerText()).length).toBeLessThan(20_000);
      const image = step(page, "read").getByRole("img");
      await image.waitFor();
      expect(await image.getAttribute("src")).toMatch(/^data:image\/png;base64,/);
    });
  });

  it("compares ten thousand lines, and shows them as the reader asks", async () => {
    const run_id = await runs.submit("big");
    await withPage(`/runs/${run_id}?step=second`, async (page) => {
      const diff = step(page, "second").getByRole("region", { name: "Difference at /notes/long" });
      await diff.getByText("line 0 one").waitFor();
      await diff.getByRole("button", { name: "more lines" }).click();
      expect(await diff.locator(".diff-line").count()).toBeLessThan(6000);
    });
  });

  it("follows the run without a reload", async () => {
    const run_id = await runs.submit("held");
    await withPage(`/runs/${run_id}`, async (page) => {
      await page.getByText("A call waits for the decision of a person.").waitFor();
      const [gate] = (await (await console.engine.run(run_id, { principal: ana })).now()).gates;
      await console.engine.approve(gate?.gate_id as string, { principal: ana });
      await page.getByText("6 of 6 steps done").waitFor();
      await page.getByRole("link", { name: /^log echo.*succeeded$/ }).waitFor();
    });
  });

  it("cancels after a confirmation, with the reason on record", async () => {
    const run_id = await runs.submit("held");
    await withPage(`/runs/${run_id}`, async (page) => {
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByLabel("Reason, for the record").fill("not needed");
      await page.getByRole("dialog").getByRole("button", { name: "Cancel the run" }).click();
      await page.getByText("cancelled", { exact: true }).first().waitFor();
      expect(await eventsOf(run_id, "cancel.requested")).toMatchObject([{ by: "ana", reason: "not needed" }]);
    });
  });

  it("lists the acts before it undoes them, and then what became of each", async () => {
    const run_id = await runs.approved("held");
    await withPage(`/runs/${run_id}`, async (page) => {
      await page.getByRole("button", { name: "Undo…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("will be undone").waitFor();
      await dialog.getByText("Steps that used its output, and stay as they are: log").waitFor();
      expect(await eventsOf(run_id, "run.undone")).toEqual([]);
      await dialog.getByRole("button", { name: "Undo 1 act" }).click();
      await page.getByRole("dialog", { name: "The undo has ended" }).waitFor();
      expect(await eventsOf(run_id, "run.undone")).toMatchObject([{ by: "ana", acts: [{ step_id: "send" }] }]);
    });
  });

  it("resolves a doubt in the drawer of its step", async () => {
    const run_id = await runs.approved("inDoubt");
    await withPage(`/runs/${run_id}`, async (page) => {
      await page.getByRole("button", { name: "Resolve charge" }).click();
      await step(page, "charge").getByRole("button", { name: "Resolve…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("radio", { name: /^It happened/ }).check();
      await dialog.getByLabel("Output, as JSON").fill('{ "id": "ch_1"');
      await dialog.getByText("This is no JSON.").waitFor();
      await dialog.getByLabel("Output, as JSON").fill('{ "id": "ch_1" }');
      await dialog.getByRole("button", { name: "It happened" }).click();
      await page.getByText("completed", { exact: true }).waitFor();
      expect(await eventsOf(run_id, "step.settled")).toMatchObject([{ by: "ana", settled: { as: "happened" } }]);
    });
  });

  it("forks from a step, and opens the new run", async () => {
    const run_id = await runs.submit("big");
    await withPage(`/runs/${run_id}?step=second`, async (page) => {
      await step(page, "second").getByRole("button", { name: "Fork from here…" }).click();
      await page.getByRole("button", { name: "Start the new run" }).click();
      await page.getByText("forked before").waitFor();
      expect(page.url()).not.toContain(run_id);
    });
  });

  it("shows what a restore would change before it restores", async () => {
    const run_id = await runs.submit("big");
    await withPage(`/runs/${run_id}?step=second`, async (page) => {
      await step(page, "second").getByRole("button", { name: "Restore to here…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("/notes/long").waitFor();
      await dialog.getByRole("button", { name: "Restore state and files" }).click();
      await dialog.waitFor({ state: "detached" });
      expect(await eventsOf(run_id, "state.restored")).toHaveLength(1);
    });
  });

  it("draws a run of thousands of steps in groups, which open", async () => {
    const run_id = await runs.large(2000);
    await withPage(`/runs/${run_id}`, async (page) => {
      const group = page.getByRole("button", { name: "1,024 × echo" });
      await group.waitFor();
      expect(await page.locator(".graph-node").count()).toBeLessThan(60);
      await group.click();
      await page.getByRole("link", { name: /^s341 echo/ }).waitFor();
      expect(await page.locator(".graph-node").count()).toBeLessThan(200);
    });
  });

  it("shows that another plan continues the run, and which steps it has replaced", async () => {
    const planOf = (step_id: string, name: string) => ({ steps: [{ step_id, name, payload: {} }] });
    const terms = { principal: ana, title: "Two plans", fallbacks: [planOf("other", "echo")] };
    const { run_id } = await console.engine.submit(planOf("lost", "page.lost"), terms);
    await (await console.engine.run(run_id, { principal: ana })).finished();
    await withPage(`/runs/${run_id}?step=lost`, async (page) => {
      await page.getByText("continues with plan 2").waitFor();
      await page.getByText("belongs to a plan that another one has replaced").waitFor();
      await page.getByText("completed", { exact: true }).first().waitFor();
    });
  });

  it("says that a journal was erased", async () => {
    const run_id = await runs.submit("hostile");
    await withPage(`/runs/${run_id}`, async (page) => {
      await page.getByRole("link", { name: /^show echo/ }).waitFor();
      await console.engine.retain({ endedBefore: Date.now(), principal: ana });
      await page.reload();
      await page.getByText("The journal of this run was erased").waitFor();
    });
  });

  it("has no serious finding of axe and no overflow, in each view and with an open step", async () => {
    const run_id = await runs.approved("inDoubt");
    for (const place of ["", "?view=waterfall", "?view=story", "?step=charge"])
      await checkPage(console, `/runs/${run_id}${place}`, (page) =>
        page.locator(".graph-node, .waterfall-row, .story-line").first().waitFor(),
      );
  });
});
