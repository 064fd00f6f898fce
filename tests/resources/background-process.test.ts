import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Capture } from "../../src/core/ports/resource.ts";
import { ResourceRegistry } from "../../src/engine/resources/resource-registry.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { createTestTree, memoryFolder, refusalCode, type TestTree } from "./test-tree.ts";
import { listTree } from "./tree-listing.ts";

function makeTree(): TestTree {
  const tree = createTestTree({ "a.txt": "aaa" }, memoryFolder);
  onTestFinished(() => tree.clear());
  return tree;
}

function openTree(tree: TestTree): HostFilesystem {
  const files = new HostFilesystem({ ...tree });
  onTestFinished(() => files.dispose());
  return files;
}

/** Starts a process that works in the tree until its input ends. */
async function startWriter(tree: TestTree, detached: boolean): Promise<ChildProcess> {
  const child = spawn("sh", ["-c", "echo begun; read word"], {
    cwd: tree.root,
    detached,
    stdio: ["pipe", "pipe", "ignore"],
  });
  onTestFinished(() => void child.stdin?.end());
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

async function endProcess(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.stdin?.end();
  await exit;
}

/** Begins a call that changes a file and leaves a process running. */
async function beginCall(tree: TestTree, files: HostFilesystem, detached = false) {
  const before = listTree(tree.root);
  const capture = await files.capture("call", "raw");
  await files.open(capture);
  const child = await startWriter(tree, detached);
  writeFileSync(tree.path("a.txt"), "changed");
  return { before, capture, child };
}

describe("tree with a background process of a tool", () => {
  it.each([
    ["in its group", false],
    ["in a group of its own", true],
  ])("is not restored while the process runs, but after it ends: %s", async (_, detached) => {
    const tree = makeTree();
    const files = openTree(tree);
    const { before, capture, child } = await beginCall(tree, files, detached);
    expect(await refusalCode(files.close(capture))).toBe("RESOURCE_RESTLESS");
    expect(await refusalCode(files.restore(capture))).toBe("RESOURCE_RESTLESS");
    expect(readFileSync(tree.path("a.txt"), "utf8")).toBe("changed");
    await endProcess(child);
    await files.restore(capture);
    expect(listTree(tree.root)).toEqual(before);
  });

  it("is not restored by another process either, and the next call waits for it", async () => {
    const tree = makeTree();
    const dead = openTree(tree);
    const { before, child } = await beginCall(tree, dead);
    await dead.dispose();
    const resources = new ResourceRegistry({ files: openTree(tree) }, async () => "discarded");
    const tool = { resources: { files: "handle" } } as const;
    await expect(resources.capture(tool, "next")).rejects.toThrow(/^RESOURCE_BUSY: .*RESOURCE_RESTLESS/);
    await endProcess(child);
    const captured = await resources.capture(tool, "next");
    expect(listTree(tree.root)).toEqual(before);
    await captured.release();
  });

  it("is kept and restored though another worker has it open", async () => {
    const tree = makeTree();
    const files = openTree(tree);
    for (const ending of ["close", "restore"] as const) {
      const before = listTree(tree.root);
      const capture = await files.capture("call", "raw");
      await files.open(capture);
      const opening = `exec 3< '${tree.root}' 4< '${tree.store}/captures'; echo begun; read word`;
      const worker = spawn("sh", ["-c", opening], { cwd: tree.root, stdio: ["pipe", "pipe", "ignore"] });
      onTestFinished(() => void worker.stdin.end());
      await once(worker.stdout, "data");
      await files[ending](capture);
      expect(listTree(tree.root)).toEqual(before);
      await files.release(capture);
    }
  });

  it("is restored though a reader has it open", async () => {
    const tree = makeTree();
    const dead = openTree(tree);
    const { before, capture, child } = await beginCall(tree, dead);
    await dead.dispose();
    await endProcess(child);
    // Prints its process id once it runs in its own group.
    const script = "setsid sh -c 'echo $$; exec sleep 600 >/dev/null 2>&1' &";
    const reader = Number(execFileSync("sh", ["-c", script], { cwd: tree.root, encoding: "utf8" }));
    onTestFinished(() => void process.kill(reader, "SIGKILL"));
    await openTree(tree).restore(capture as Capture);
    expect(listTree(tree.root)).toEqual(before);
  });
});
