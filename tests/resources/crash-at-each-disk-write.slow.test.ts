import { chmodSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Access, Capture } from "../../src/core/ports/resource.ts";
import { FaultError } from "../../src/core/values/fault.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { crashingDisk, type FaultyDisk, fullDisk, SimulatedDeath } from "./faulty-disk.ts";
import { createTestTree, memoryFolder, refusalCode, type TestTree } from "./test-tree.ts";
import { listTree } from "./tree-listing.ts";

const content = { "a.txt": "aaa", "d/b.txt": "bbb", "d/e/c.txt": "ccc", "gone/x": "x", "gone/y": "y" };

function someTree(): TestTree {
  const tree = createTestTree(content, memoryFolder);
  symlinkSync("d", tree.path("link"));
  chmodSync(tree.path("a.txt"), 0o640);
  utimesSync(tree.path("d/b.txt"), 1_400_000_000, 1_400_000_000);
  return tree;
}

/** Makes all kinds of changes through the handle. */
async function changeViaHandle(files: Filesystem): Promise<void> {
  await files.write("a.txt", "changed, and longer than before");
  await files.append("d/b.txt", "more");
  await files.write("new/deep/file", "new");
  await files.delete("gone", { recursive: true });
  await files.write("gone", "a file now");
  await files.delete("d/e/c.txt");
  await files.delete("link");
}

/** Makes similar changes without the handle. */
async function changeRaw(_: Filesystem, { path }: TestTree): Promise<void> {
  writeFileSync(path("a.txt"), "changed, and longer than before");
  chmodSync(path("a.txt"), 0o600);
  rmSync(path("gone"), { recursive: true });
  writeFileSync(path("gone"), "a file now");
  writeFileSync(path("d/new"), "new");
  rmSync(path("d/e"), { recursive: true });
  rmSync(path("link"));
}

const accessTools: readonly [Access, typeof changeRaw][] = [
  ["handle", changeViaHandle],
  ["raw", changeRaw],
];

/** Opens a tree without failures, which start afterwards. */
function openFaulty(tree: TestTree, { disk, arm }: FaultyDisk): HostFilesystem {
  const resource = new HostFilesystem({ ...tree, disk });
  arm();
  return resource;
}

/** Runs a call that fails and is restored. Returns the capture, if there was one, and how the call ended. */
async function failingCall(resource: HostFilesystem, tree: TestTree, [access, tool]: (typeof accessTools)[number]) {
  const captures: Capture[] = [];
  try {
    const capture = await resource.capture("call", access);
    captures.push(capture);
    await tool(await resource.open(capture), tree);
    await resource.restore(capture);
    return { capture, ended: "well" };
  } catch (error) {
    const code = error instanceof FaultError ? error.fault.code : "died";
    if (!(error instanceof FaultError) && !(error instanceof SimulatedDeath)) throw error;
    return { capture: captures[0] ?? null, ended: code };
  }
}

describe.each(accessTools)("process that dies at any disk step of a call, %s", (...accessTool) => {
  it("leaves a tree that the next process restores, though that one dies at any step too", async () => {
    const ends = new Set<string>();
    for (let at = 1; !ends.has("well"); at += 1) {
      const tree = someTree();
      const before = listTree(tree.root);
      const crashing = openFaulty(tree, crashingDisk(at));
      const { capture, ended } = await failingCall(crashing, tree, accessTool);
      ends.add(ended);
      await crashing.dispose();
      // The next processes die too, each a little later, until one restores the tree.
      for (let nextAt = 1; capture !== null && ended !== "well"; nextAt += 5) {
        const next = openFaulty(tree, crashingDisk(nextAt));
        const isRestored = await next.restore(capture).then(
          () => true,
          () => false,
        );
        await next.dispose();
        if (isRestored) break;
      }
      expect(listTree(tree.root), `died at step ${at}`).toEqual(before);
      const healthy = new HostFilesystem({ ...tree });
      expect(await healthy.capture("after", "raw")).toMatchObject({ tag: "after" });
      await healthy.dispose();
      tree.clear();
    }
    expect([...ends].sort()).toContain("well");
    expect(ends.size).toBeGreaterThan(1);
  });
});

describe.each(accessTools)("disk that is full at any step of a call, %s", (...accessTool) => {
  it("is reported as a fault, and everything is restored when there is space again", async () => {
    const endings = new Set<string>();
    for (let from = 1; !endings.has("well"); from += 1) {
      const tree = someTree();
      const before = listTree(tree.root);
      const resource = openFaulty(tree, fullDisk(from, 3));
      const { capture, ended } = await failingCall(resource, tree, accessTool);
      endings.add(ended);
      // The same process restores the same capture when there is space again.
      for (let tries = 0; capture !== null && ended !== "well" && tries < 5; tries += 1) {
        if (typeof (await refusalCode(resource.restore(capture))) !== "string") break;
      }
      expect(listTree(tree.root), `full at write ${from}`).toEqual(before);
      await resource.dispose();
      tree.clear();
    }
    endings.delete("well");
    expect([...endings]).toEqual(["RESOURCE_FULL"]);
  });
});

describe.each(accessTools)("process that dies at any disk step of a restore, %s", (...accessTool) => {
  it("leaves a tree that the next process restores, and its restore points", async () => {
    const [access, tool] = accessTool;
    let ended = false;
    for (let at = 1; !ended; at += 1) {
      const tree = someTree();
      const listings = [listTree(tree.root)];
      const healthy = new HostFilesystem({ ...tree });
      const call = await healthy.capture("call", access);
      await tool(await healthy.open(call), tree);
      await healthy.close(call);
      await healthy.keep(call);
      await healthy.dispose();
      listings.push(listTree(tree.root));
      const crashing = openFaulty(tree, crashingDisk(at));
      ended = await rewindTo(crashing, call, access);
      await crashing.dispose();
      const next = new HostFilesystem({ ...tree });
      const abandoned = await next.left();
      if (abandoned !== null) await next.restore(abandoned.capture);
      // If the rewind was reported, it is kept.
      expect(listTree(tree.root), `died at step ${at}`).toEqual(listings[ended ? 0 : 1]);
      if (!ended) expect(await rewindTo(next, call, access)).toBe(true);
      expect(listTree(tree.root), `rewound after step ${at}`).toEqual(listings[0]);
      await next.dispose();
      tree.clear();
    }
  });
});

/** Rewinds to before a call. Returns false if the process died during it. */
async function rewindTo(resource: HostFilesystem, call: Capture, access: Access): Promise<boolean> {
  try {
    const back = await resource.capture("back", access);
    await resource.open(back);
    await resource.rewind(back, { capture: call, side: "before" });
    await resource.close(back);
    await resource.keep(back);
    return true;
  } catch (error) {
    if (!(error instanceof SimulatedDeath) && !(error instanceof FaultError)) throw error;
    return false;
  }
}
