import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { CallsMadeAgain } from "../../src/agents/calls-made-again.ts";
import { FileCheckpoints } from "../../src/agents/file-checkpoints.ts";
import { govern } from "../../src/agents/govern.ts";
import { HostCalls } from "../../src/agents/host-calls.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { anaPerson, botAgent, storeKinds } from "../engine/engine-fixture.ts";

const forMs = 60_000;

describe.each(storeKinds)("the files around the calls that a host makes itself, on $name", ({ newFixture }) => {
  async function started() {
    const folder = mkdtempSync(join(tmpdir(), "writ-watched-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    const root = join(folder, "work");
    mkdirSync(root);
    const page = join(root, "page");
    writeFileSync(page, "draft");
    const stage = newFixture();
    const open = async () => {
      const engine = await stage.open({ tools: [], resources: { files: new HostFilesystem({ root }) } });
      const governed = await govern({ engine, session: "chat", principal: botAgent, print: () => {} });
      const files = new FileCheckpoints(governed, {
        resource: "files",
        captureTool: "files",
        mayChange: (tool) => tool !== "Read",
      });
      const agent = { name: "host", effectOf: governed.effectOf.bind(governed) };
      const calls = new CallsMadeAgain(governed, agent, await governed.run.turns());
      const work = new HostCalls(governed, calls, files);
      const begin = (id: string, tool: string) =>
        work.begin({ id, tool, input: { id }, agent: undefined }, null, { forMs });
      const restore = async (id: string, side: "before" | "after") =>
        engine.checkpoints.restore(await files.find(id, side), { principal: anaPerson });
      return { engine, governed, files, work, begin, restore };
    };
    return { root, page, open };
  }

  it("are a checkpoint of each call, also of one that failed, and are restored by a person only", async () => {
    const { page, open } = await started();
    const { work, begin, restore } = await open();
    expect(await begin("one", "Write")).toEqual({ go: true, input: null });
    writeFileSync(page, "whole");
    await work.end("one", { output: "written" });
    expect(await begin("two", "Bash")).toMatchObject({ go: true });
    writeFileSync(page, "half");
    await work.end("two", { fault: { message: "the command failed" } });
    expect(readFileSync(page, "utf8")).toBe("half");
    await restore("two", "before");
    expect(readFileSync(page, "utf8")).toBe("whole");
    await restore("one", "before");
    expect(readFileSync(page, "utf8")).toBe("draft");
    await restore("one", "after");
    expect(readFileSync(page, "utf8")).toBe("whole");
  });

  it("are captured for calls that may change them, and for no others", async () => {
    const { open } = await started();
    const { governed, files, work, begin } = await open();
    await begin("look", "Read");
    await work.end("look", { output: "draft" });
    await expect(files.find("look", "before")).rejects.toMatchObject({ fault: { code: "CHECKPOINT_NOT_FOUND" } });
    const tools = (await governed.run.turns()).flatMap(({ calls }) => calls.map(({ tool }) => tool));
    expect(tools).toEqual(["Read"]);
  });

  it("let no call begin that cannot be captured: nothing was done, on record", async () => {
    const { root, open } = await started();
    const { governed, begin } = await open();
    rmSync(root, { recursive: true });
    writeFileSync(root, "a file where the folder was");
    await expect(begin("one", "Write")).rejects.toThrow("the files could not be captured before the call");
    expect(await governed.run.findCall("one")).toMatchObject({ status: "failed", fault: { code: "TOOL_FAILED" } });
  });
});
