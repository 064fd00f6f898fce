import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Capture } from "../../src/core/ports/resource.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { createTestTree, refusalCode, type TestTree } from "./test-tree.ts";
import { listTree } from "./tree-listing.ts";

const modulePath = repositoryPath("dist", "files.js");
const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const clear of cleanups.splice(0)) clear();
});

function someTree(): TestTree {
  const tree = createTestTree({ "a.txt": "aaa", "keep/me": "kept" });
  cleanups.push(() => tree.clear());
  for (let count = 0; count < 200; count += 1) {
    mkdirSync(tree.path(`d${count % 10}`), { recursive: true });
    writeFileSync(tree.path(`d${count % 10}/${count}`), `content ${count}`.repeat(count), {
      mode: 0o600 + (count % 64),
    });
  }
  symlinkSync("a.txt", tree.path("link"));
  linkSync(tree.path("keep/me"), tree.path("d0/second"));
  chmodSync(tree.path("d1"), 0o2750);
  return tree;
}

/**
 * Starts a process that makes failing calls in a loop. It writes the capture of each call to a file before the call
 * changes anything.
 */
function startWorker(tree: TestTree, tool: string, access: string): ChildProcess {
  const program = `
    import { HostFilesystem } from ${JSON.stringify(modulePath)};
    import * as fs from "node:fs";
    const [root, store] = ${JSON.stringify([tree.root, tree.store])};
    const resource = new HostFilesystem({ root, store });
    for (;;) {
      const capture = await resource.capture("call", ${JSON.stringify(access)});
      fs.writeFileSync(${JSON.stringify(join(tree.outside, "capture.tmp"))}, JSON.stringify(capture));
      fs.renameSync(${JSON.stringify(join(tree.outside, "capture.tmp"))}, ${JSON.stringify(join(tree.outside, "capture"))});
      process.stdout.write(".");
      const files = await resource.open(capture);
      ${tool}
      await resource.restore(capture);
      await resource.release(capture);
    }`;
  return spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
}

const handleTool = `
  for (let n = 0; n < 200; n += 7) await files.write("d" + (n % 10) + "/" + n, "changed " + n);
  await files.delete("d3", { recursive: true });
  await files.write("d3", "a file now");
  await files.write("new/deep/er", "new");
  await files.delete("link");`;

const rawTool = `
  for (let n = 0; n < 200; n += 7) fs.writeFileSync(root + "/d" + (n % 10) + "/" + n, "changed " + n);
  fs.rmSync(root + "/d3", { recursive: true });
  fs.writeFileSync(root + "/d3", "a file now");
  fs.chmodSync(root + "/d1", 0o755);
  fs.mkdirSync(root + "/new/deep", { recursive: true });
  fs.unlinkSync(root + "/link");
  fs.unlinkSync(root + "/keep/me");`;

describe.each([
  ["handle", handleTool],
  ["raw", rawTool],
])("process killed while it works on a tree, %s", (access, tool) => {
  it("leaves a tree that the next process restores, wherever it was killed", { timeout: 300_000 }, async () => {
    const tree = someTree();
    const before = listTree(tree.root);
    for (let kill = 0; kill < 12; kill += 1) {
      const child = startWorker(tree, tool, access);
      await once(child.stdout as NodeJS.ReadableStream, "data");
      // Kills the process at different times. The delay does not wait for any condition.
      await new Promise((resolve) => setTimeout(resolve, (kill * 37) % 300));
      child.kill("SIGKILL");
      await once(child, "exit");
      const capture = JSON.parse(readFileSync(join(tree.outside, "capture"), "utf8")) as Capture;
      const next = new HostFilesystem({ ...tree });
      const code = await refusalCode(next.restore(capture));
      // The call was already restored and released, and the next one had not changed anything yet.
      if (code !== "CAPTURE_NOT_FOUND") expect(code, `kill ${kill}`).toMatchObject({ answered: expect.anything() });
      expect(listTree(tree.root), `kill ${kill}`).toEqual(before);
      await next.release(capture);
      await next.dispose();
    }
  });
});

describe("tree in use by another process", () => {
  it("is refused while that process lives, and not longer", { timeout: 60_000 }, async () => {
    const tree = someTree();
    const child = startWorker(tree, "await new Promise((resolve) => setTimeout(resolve, 600_000));", "handle");
    await once(child.stdout as NodeJS.ReadableStream, "data");
    const ours = new HostFilesystem({ ...tree });
    expect(await refusalCode(ours.capture("ours", "handle"))).toBe("RESOURCE_BUSY");
    child.kill("SIGKILL");
    await once(child, "exit");
    await ours.close(await ours.capture("ours", "handle"));
    await ours.dispose();
  });
});

describe("directory that another process keeps swapping for a link", () => {
  it("never leads a tool out of its tree", { timeout: 120_000 }, async () => {
    const tree = someTree();
    mkdirSync(join(tree.outside, "d"));
    writeFileSync(join(tree.outside, "d/0"), "outside");
    symlinkSync(join(tree.outside, "d"), tree.path("swap"));
    // A write may recreate the directory while it is moved, so the program removes it again.
    const program = `const fs = require("fs"); process.chdir(${JSON.stringify(tree.root)}); process.stdout.write(".");
      const tried = (work) => { try { work(); return true; } catch { return false; } };
      const move = (from, to) => {
        while (!tried(() => fs.renameSync(from, to))) tried(() => fs.rmSync(to, { recursive: true, force: true }));
      };
      for (;;) { move("d0", "held"); move("swap", "d0"); move("d0", "swap"); move("held", "d0"); }`;
    const swapper = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    await once(swapper.stdout as NodeJS.ReadableStream, "data");
    const resource = new HostFilesystem({ ...tree });
    const files = await resource.open(await resource.capture("call", "handle"));
    let [inside, refused] = [0, 0];
    for (let tries = 0; tries < 3000; tries += 1) {
      const text = await files.readText("d0/0").catch(() => null);
      if (text === null) refused += 1;
      else inside += 1;
      expect(text).not.toBe("outside");
      await files.write(`d0/new-${tries}`, "escaped?").catch(() => null);
      await files.append("d0/0", "").catch(() => null);
    }
    expect(swapper.exitCode).toBeNull();
    swapper.kill("SIGKILL");
    await once(swapper, "exit");
    expect(readFileSync(join(tree.outside, "d/0"), "utf8")).toBe("outside");
    expect(listTree(join(tree.outside, "d"))).toHaveLength(2);
    expect(inside + refused).toBe(3000);
    await resource.dispose();
  });
});

describe("the lock of a tree", () => {
  it.for([
    { other: "another process", inContainer: [] },
    { other: "a process in another container on the same volume", inContainer: ["unshare", "--net"] },
  ])("is held against $other, and ends with its process", async ({ inContainer }, { skip }) => {
    const [unshare, ...options] = inContainer;
    if (unshare !== undefined && spawnSync(unshare, [...options, "true"]).status !== 0)
      return skip("this user may not make a network namespace, so nothing was tested");
    const tree = someTree();
    const program = `
      import { HostFilesystem } from ${JSON.stringify(modulePath)};
      const resource = new HostFilesystem(${JSON.stringify({ root: tree.root, store: tree.store })});
      await resource.capture("call", "handle");
      process.stdout.write(".");
      setInterval(() => resource, 1000);`;
    const [command = "", ...args] = [...inContainer, process.execPath, "--input-type=module", "-e", program];
    const holder = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    await once(holder.stdout, "data");
    const resource = new HostFilesystem({ root: tree.root, store: tree.store });
    expect(await refusalCode(resource.kept())).toBe("RESOURCE_BUSY");
    const exited = once(holder, "exit");
    holder.kill("SIGKILL");
    await exited;
    expect((await resource.kept()).captures).toEqual([]);
    await resource.dispose();
  });
});
