import { chmodSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FaultError } from "../../src/core/fault.ts";
import type { Access, Capture } from "../../src/core/resource.ts";
import type { Filesystem } from "../../src/resources/filesystem.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { Death, deadlyDisk, fullDisk, type TroubledDisk } from "../dying-disk.ts";
import { portrait } from "../fidelity/portrait.ts";
import { quickPlace, refusal, type WorkingTree, workingTree } from "../working-tree.ts";

const content = { "a.txt": "aaa", "d/b.txt": "bbb", "d/e/c.txt": "ccc", "gone/x": "x", "gone/y": "y" };

function someTree(): WorkingTree {
  const tree = workingTree(content, quickPlace);
  symlinkSync("d", tree.path("link"));
  chmodSync(tree.path("a.txt"), 0o640);
  utimesSync(tree.path("d/b.txt"), 1_400_000_000, 1_400_000_000);
  return tree;
}

/** A bit of everything, through the handle. */
async function viaHandle(files: Filesystem): Promise<void> {
  await files.write("a.txt", "changed, and longer than before");
  await files.append("d/b.txt", "more");
  await files.write("new/deep/file", "new");
  await files.delete("gone", { recursive: true });
  await files.write("gone", "a file now");
  await files.delete("d/e/c.txt");
  await files.delete("link");
}

/** The same past it. */
async function pastIt(_: Filesystem, { path }: WorkingTree): Promise<void> {
  writeFileSync(path("a.txt"), "changed, and longer than before");
  chmodSync(path("a.txt"), 0o600);
  rmSync(path("gone"), { recursive: true });
  writeFileSync(path("gone"), "a file now");
  writeFileSync(path("d/new"), "new");
  rmSync(path("d/e"), { recursive: true });
  rmSync(path("link"));
}

const ways: readonly [Access, typeof pastIt][] = [
  ["handle", viaHandle],
  ["raw", pastIt],
];

/** All is well until it is opened. */
function troubled(tree: WorkingTree, { disk, arm }: TroubledDisk): HostFilesystem {
  const resource = new HostFilesystem({ ...tree, disk });
  arm();
  return resource;
}

/** A call that fails and is undone. Answers with the capture, if it came to that, however far the rest went. */
async function failingCall(resource: HostFilesystem, tree: WorkingTree, [access, tool]: (typeof ways)[number]) {
  const noted: Capture[] = [];
  try {
    const capture = await resource.capture("call", access);
    noted.push(capture);
    await tool(await resource.open(capture), tree);
    await resource.restore(capture);
    return { capture, ended: "well" };
  } catch (error) {
    const code = error instanceof FaultError ? error.fault.code : "died";
    if (!(error instanceof FaultError) && !(error instanceof Death)) throw error;
    return { capture: noted[0] ?? null, ended: code };
  }
}

describe.each(ways)("a process that dies at any step of a call, %s", (...way) => {
  it("leaves what the next one puts back, though that one dies at any step, too", async () => {
    const ends = new Set<string>();
    for (let at = 1; !ends.has("well"); at += 1) {
      const tree = someTree();
      const before = portrait(tree.root);
      const mortal = troubled(tree, deadlyDisk(at));
      const { capture, ended } = await failingCall(mortal, tree, way);
      ends.add(ended);
      await mortal.dispose();
      // The next process dies, too, a little later each time, until one does not.
      for (let life = 1; capture !== null && ended !== "well"; life += 5) {
        const next = troubled(tree, deadlyDisk(life));
        const undone = await next.restore(capture).then(
          () => true,
          () => false,
        );
        await next.dispose();
        if (undone) break;
      }
      expect(portrait(tree.root), `died at step ${at}`).toEqual(before);
      const healthy = new HostFilesystem({ ...tree });
      expect(await healthy.capture("after", "raw")).toMatchObject({ tag: "after" });
      await healthy.dispose();
      tree.clear();
    }
    expect([...ends].sort()).toContain("well");
    expect(ends.size).toBeGreaterThan(1);
  });
});

describe.each(ways)("a disk that is full at any step of a call, %s", (...way) => {
  it("is told as a fault, and everything is put back when there is room again", async () => {
    const told = new Set<string>();
    for (let from = 1; !told.has("well"); from += 1) {
      const tree = someTree();
      const before = portrait(tree.root);
      const resource = troubled(tree, fullDisk(from, 3));
      const { capture, ended } = await failingCall(resource, tree, way);
      told.add(ended);
      // The same process, and the same capture: there is room again.
      for (let tries = 0; capture !== null && ended !== "well" && tries < 5; tries += 1) {
        if (typeof (await refusal(resource.restore(capture))) !== "string") break;
      }
      expect(portrait(tree.root), `full at write ${from}`).toEqual(before);
      await resource.dispose();
      tree.clear();
    }
    told.delete("well");
    expect([...told]).toEqual(["RESOURCE_FULL"]);
  });
});

describe.each(ways)("a process that dies at any step of going back, %s", (...way) => {
  it("leaves what the next one puts back, and what can be gone back to", async () => {
    const [access, tool] = way;
    let ended = false;
    for (let at = 1; !ended; at += 1) {
      const tree = someTree();
      const pictures = [portrait(tree.root)];
      const healthy = new HostFilesystem({ ...tree });
      const call = await healthy.capture("call", access);
      await tool(await healthy.open(call), tree);
      await healthy.close(call);
      await healthy.keep(call);
      await healthy.dispose();
      pictures.push(portrait(tree.root));
      const mortal = troubled(tree, deadlyDisk(at));
      ended = await wentBack(mortal, call, access);
      await mortal.dispose();
      const next = new HostFilesystem({ ...tree });
      const left = await next.left();
      if (left !== null) await next.restore(left.capture);
      // Whoever lived to say so had it kept.
      expect(portrait(tree.root), `died at step ${at}`).toEqual(pictures[ended ? 0 : 1]);
      if (!ended) expect(await wentBack(next, call, access)).toBe(true);
      expect(portrait(tree.root), `gone back after step ${at}`).toEqual(pictures[0]);
      await next.dispose();
      tree.clear();
    }
  });
});

/** False: it died at it. */
async function wentBack(resource: HostFilesystem, call: Capture, access: Access): Promise<boolean> {
  try {
    const back = await resource.capture("back", access);
    await resource.open(back);
    await resource.rewind(back, { capture: call, side: "before" });
    await resource.close(back);
    await resource.keep(back);
    return true;
  } catch (error) {
    if (!(error instanceof Death) && !(error instanceof FaultError)) throw error;
    return false;
  }
}
