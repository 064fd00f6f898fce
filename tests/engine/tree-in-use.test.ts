import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

const write = scriptedTool(
  "write",
  async ({ context }) => {
    await context.resource<Filesystem>("files").write("a.txt", "written");
    return {};
  },
  { effect: "writes", resources: { files: "handle" } },
);

function openTwice() {
  const top = mkdtempSync(join(tmpdir(), "writ-tree-"));
  const root = join(top, "tree");
  mkdirSync(root);
  const [files, other] = [new HostFilesystem({ root }), new HostFilesystem({ root })];
  onTestFinished(async () => {
    await Promise.all([files.dispose(), other.dispose()]);
    rmSync(top, { recursive: true });
  });
  return { root, files, other };
}

describe.each(storeKinds)("a call whose file tree another process uses, on $name", ({ newFixture: newStage }) => {
  const start = async (timeout_ms: number) => {
    const { root, files, other } = openTwice();
    const stage = newStage();
    const engine = await stage.open({ tools: [write.tool], resources: { files } });
    const held = await other.capture("other", "handle");
    const plan = { steps: [{ step_id: "a", name: "write", timeout_ms }] };
    const run = await engine.submit(plan, { principal: botAgent });
    await stage.advance(20_000);
    return { stage, run, root, end: () => other.release(held) };
  };

  it("waits for the tree, and writes when it is free", async () => {
    const { stage, run, root, end } = await start(60_000);
    expect((await run.now()).steps.a?.state).not.toMatch(/rejected|failed/);
    await end();
    await stage.advance(1000);
    expect((await run.result()).status).toBe("completed");
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("written");
  });

  it("is refused at the timeout of its step", async () => {
    const { run } = await start(10_000);
    expect((await run.result()).steps.a).toMatchObject({ fault: { code: "RESOURCE_BUSY" } });
  });

  it("no longer waits when its run is cancelled", async () => {
    const { stage, run } = await start(60_000);
    await run.cancel();
    await stage.advance(1000);
    expect((await run.result()).final).toBe(true);
  });
});
