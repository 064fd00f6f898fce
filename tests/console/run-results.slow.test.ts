import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { ana, type ConsoleUnderTest, serveConsole } from "./browser-fixture.ts";
import { describeInBrowser } from "./describe-in-browser.ts";
import { hostileName, robot } from "./pages-scenario.ts";

const files = new MemoryFilesystem({ files: { "prices.md": "Gold 90\n" } });

const editFile = defineTool({
  name: "files.edit",
  effect: "writes",
  resources: { files: "handle" },
  input: z.object({ path: z.string(), text: z.string() }),
  output: z.object({ diff: z.string() }),
  run: async ({ path, text }, { resource }) => {
    const tree = resource("files" as never) as { write(path: string, text: string): Promise<void> };
    await tree.write(path, text);
    return { diff: `-Gold 90\n+${text}` };
  },
});

let isDown = true;
const readPage = defineTool({
  name: "page.read",
  effect: "reads",
  cache: "never",
  input: z.object({}),
  output: z.object({ words: z.number() }),
  run: async () => (isDown ? Promise.reject(new Error("the page is gone")) : { words: 3 }),
});

describeInBrowser("what a run has left", () => {
  let console: ConsoleUnderTest;
  beforeAll(async () => {
    console = await serveConsole({ tools: [editFile, readPage], slices: [], resources: { files } });
  });
  afterAll(() => console?.close());

  const submit = async (name: string, payload: object, title: string) => {
    const run = await console.engine.submit({ steps: [{ step_id: "a", name, payload }] }, { principal: robot, title });
    await run.result();
    return run;
  };

  it("shows the changed files of a step with their sizes, and the lines that its tool reports", async () => {
    const { run_id } = await submit("files.edit", { path: "prices.md", text: `Gold 79 ${hostileName}` }, "Edit");
    const page = await console.open(`/runs/${run_id}?step=a`);
    const changed = page.getByRole("list", { name: "Changed files" });
    await changed.getByText("prices.md").waitFor();
    await changed.getByText(/changed, 8 bytes → \d+ bytes/).waitFor();
    await page.getByRole("region", { name: "Difference of Output" }).getByText("Gold 90").waitFor();
    expect(await page.locator("main img, main b", { hasText: "name" }).count()).toBe(0);
    await page.context().close();
  });

  it("is exported as a file that has every event of the journal", async () => {
    const run = await submit("page.read", {}, "Export");
    const page = await console.open(`/runs/${run.run_id}`);
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export" }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe(`${run.run_id}.json`);
    const exported = await readFile(await file.path(), "utf8");
    for await (const { event } of run.events()) expect(exported).toContain(`"${event.type}"`);
    await page.context().close();
  });

  it("is continued by a resume of several runs at once", async () => {
    const failed = [await submit("page.read", {}, "First page"), await submit("page.read", {}, "Second page")];
    isDown = false;
    const page = await console.open("/runs?status=failed");
    for (const title of ["First page", "Second page"])
      await page.getByRole("checkbox", { name: `Choose ${title}` }).check();
    await page.getByRole("button", { name: "Resume…" }).click();
    await page.getByRole("button", { name: "Resume 2 runs" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    for (const { run_id } of failed) {
      const status = async () => (await (await console.engine.run(run_id, { principal: ana })).now()).status;
      await expect.poll(status).toBe("completed");
    }
    await page.context().close();
  });
});
