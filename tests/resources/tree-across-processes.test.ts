import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Access, Capture } from "../../src/core/ports/resource.ts";
import { type Disk, realDisk } from "../../src/resources/host/disk.ts";
import type { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { SimulatedDeath } from "./faulty-disk.ts";
import { openTrees } from "./open-trees.ts";
import { refusalCode, type TestTree } from "./test-tree.ts";
import { listTree } from "./tree-listing.ts";

const { makeTree, openTree } = openTrees();

async function runKeptCall(resource: HostFilesystem, work: () => void, access: Access = "raw"): Promise<Capture> {
  const capture = await resource.capture("work", access);
  await resource.open(capture);
  work();
  await resource.close(capture);
  await resource.keep(capture);
  return capture;
}

const objects = (tree: TestTree): string => join(tree.store, "objects");

/** Overwrites a text with zeros in all stored contents. */
function zeroStored(tree: TestTree, text: string): void {
  for (const name of readdirSync(objects(tree))) {
    const bytes = readFileSync(join(objects(tree), name));
    const at = bytes.indexOf(text);
    if (at >= 0) bytes.fill(0, at, at + text.length);
    writeFileSync(join(objects(tree), name), bytes);
  }
}

describe("processes that use one tree in turn", () => {
  it("write nothing where another dropped the captured content", async () => {
    const tree = makeTree();
    const [ours, theirs] = [openTree(tree), openTree(tree)];
    await ours.release(await runKeptCall(ours, () => writeFileSync(tree.path("a.txt"), "1")));
    expect(await theirs.sweep()).toBe(1);
    const before = listTree(tree.root);
    const capture = await ours.capture("ours", "raw");
    await ours.open(capture);
    rmSync(tree.path("a.txt"));
    await ours.dispose();
    await theirs.restore(capture);
    expect(listTree(tree.root)).toEqual(before);
  });

  it("share stored contents for any number of turns", async () => {
    const tree = makeTree();
    const both = [openTree(tree), openTree(tree)] as const;
    for (let turn = 0; turn < 8; turn += 1)
      await runKeptCall(both[turn % 2] as HostFilesystem, () => writeFileSync(tree.path("a.txt"), `${turn}`));
    expect(readdirSync(objects(tree))).toHaveLength(1);
    const third = openTree(tree);
    const { captures } = await third.kept();
    const back = await third.capture("back", "raw");
    await third.rewind(back, { capture: captures[0] as Capture, side: "before" });
    expect(readFileSync(tree.path("a.txt"), "utf8")).toBe("aaa");
  });

  it("exclude each other also after the lock file was replaced between two calls", async () => {
    const tree = makeTree();
    const [ours, theirs] = [openTree(tree), openTree(tree)];
    await runKeptCall(ours, () => writeFileSync(tree.path("a.txt"), "1"));
    rmSync(join(tree.store, "lock"));
    await runKeptCall(theirs, () => writeFileSync(tree.path("a.txt"), "2"));
    const capture = await ours.capture("ours", "raw");
    expect(await refusalCode(theirs.capture("theirs", "raw"))).toBe("RESOURCE_BUSY");
    await ours.release(capture);
    await theirs.release(await theirs.capture("theirs", "raw"));
  });

  it("read changed files again, and only those", async () => {
    const tree = makeTree({ "b.txt": "bbb", "c.txt": "ccc" });
    const read: string[] = [];
    const openSync = ((path: string, flags: number, mode?: number) => {
      if (String(path).startsWith(`${tree.root}/`)) read.push(String(path).slice(tree.root.length + 1));
      return realDisk.openSync(path, flags, mode);
    }) as Disk["openSync"];
    // Late enough that every later change has a new timestamp.
    const ours = openTree(tree, { disk: { ...realDisk, openSync }, now: () => Date.now() + 60_000 });
    await runKeptCall(ours, () => {});
    await runKeptCall(openTree(tree), () => writeFileSync(tree.path("b.txt"), "theirs"));
    read.length = 0;
    await ours.capture("ours", "raw");
    expect(read).toEqual(["b.txt"]);
  });
});

describe("tree lock", () => {
  it("is held only once it is acquired", async () => {
    const tree = makeTree();
    const [ours, theirs] = [openTree(tree), openTree(tree)];
    await theirs.capture("theirs", "handle");
    const requests = [ours.capture("ours", "handle"), ours.kept(), ours.sweep()];
    expect(await Promise.all(requests.map((one) => refusalCode(one)))).toEqual(requests.map(() => "RESOURCE_BUSY"));
  });

  it("is shared with readers and kept until the last one ends", async () => {
    const tree = makeTree();
    const [ours, theirs] = [openTree(tree), openTree(tree)];
    const reading = ours.kept();
    const capture = await ours.capture("ours", "handle");
    const before = ours.diff("now", "now");
    await ours.release(capture);
    await Promise.all([reading, before]);
    await theirs.capture("theirs", "handle");
  });

  it("is not waited for by a caller that releases it meanwhile", async () => {
    const ours = openTree(makeTree());
    const requests = refusalCode(ours.capture("ours", "handle"));
    await ours.dispose();
    expect(await requests).toBe("RESOURCE_BUSY");
  });
});

describe("files left beside the tree by a dead process", () => {
  it("do not stop the captures file from being rewritten", async () => {
    const tree = makeTree();
    const dead = openTree(tree);
    await dead.capture("dead", "handle");
    await dead.dispose();
    const ours = openTree(tree);
    for (let count = 0; count < 4; count += 1) {
      writeFileSync(tree.path("a.txt"), `${count}`.repeat(3_000_000));
      const failing = await ours.capture("fails", "handle");
      await (await ours.open(failing)).write("a.txt", "changed");
      await ours.restore(failing);
      await ours.release(failing);
    }
    expect(statSync(join(tree.store, "captures")).size).toBeLessThan(9_000_000);
  });

  it("are removed if they were not in place yet", async () => {
    const tree = makeTree();
    await openTree(tree).dispose();
    const temporary = join(tree.store, "captures.0123456789ab.new");
    linkSync(join(tree.store, "captures"), temporary);
    await openTree(tree).kept();
    expect(existsSync(temporary)).toBe(false);
  });
});

describe("stored contents", () => {
  /** Runs a process that dies before the contents of its capture are synced. */
  const unsynced = async (tree: TestTree): Promise<void> => {
    const fdatasyncSync = () => {
      throw new SimulatedDeath();
    };
    const dead = openTree(tree, { disk: { ...realDisk, fdatasyncSync } });
    await expect(dead.capture("dead", "raw")).rejects.toThrow();
    await dead.dispose();
  };

  it("that were never synced are not trusted", async () => {
    const tree = makeTree({ "b.txt": "the content of b" });
    await unsynced(tree);
    zeroStored(tree, "the content of b");
    const ours = openTree(tree);
    const capture = await ours.capture("ours", "raw");
    await ours.open(capture);
    rmSync(tree.path("b.txt"));
    await ours.restore(capture);
    expect(readFileSync(tree.path("b.txt"), "utf8")).toBe("the content of b");
  });

  it("that were never synced are synced before another call relies on them", async () => {
    const tree = makeTree();
    await unsynced(tree);
    const synced: number[] = [];
    const fdatasyncSync = (file: number): void => {
      synced.push(realDisk.fstatSync(file).ino);
      realDisk.fdatasyncSync(file);
    };
    await openTree(tree, { disk: { ...realDisk, fdatasyncSync } }).capture("ours", "raw");
    const [pack] = readdirSync(objects(tree)) as [string];
    expect(synced).toContain(statSync(join(objects(tree), pack)).ino);
  });

  it("of a large file that changed between two reads are not stored under the first digest", async () => {
    const large = "l".repeat(9_000_000);
    const tree = makeTree({ large });
    let count = 0;
    const readLarge = ((file: number, ...rest: [Buffer, number, number, number]) => {
      if (realDisk.fstatSync(file).ino === statSync(tree.path("large")).ino) count += 1;
      if (count === 3) writeFileSync(tree.path("large"), "m".repeat(large.length));
      return readSync(file, ...rest);
    }) as Disk["readSync"];
    const ours = openTree(tree, { disk: { ...realDisk, readSync: readLarge } });
    await runKeptCall(ours, () => {});
    writeFileSync(tree.path("large"), large);
    const next = openTree(tree);
    const capture = await next.capture("next", "raw");
    await next.open(capture);
    rmSync(tree.path("large"));
    await next.restore(capture);
    expect(readFileSync(tree.path("large"), "utf8") === large).toBe(true);
  });

  it("of a large file that shrinks during the read count as an unstable tree", async () => {
    const tree = makeTree({ large: "l".repeat(9_000_000) });
    const shrinking = ((file: number, ...rest: [Buffer, number, number, number]) => {
      const { ino, size } = statSync(tree.path("large"));
      if (realDisk.fstatSync(file).ino === ino) truncateSync(tree.path("large"), size - 1);
      return readSync(file, ...rest);
    }) as Disk["readSync"];
    const ours = openTree(tree, { disk: { ...realDisk, readSync: shrinking } });
    expect(await refusalCode(ours.capture("ours", "raw"))).toBe("RESOURCE_RESTLESS");
  });

  it("that are damaged are reported before dependent files are changed", async () => {
    const tree = makeTree({ "b.txt": "the content of b", "d/c.txt": "ccc" });
    const ours = openTree(tree);
    const capture = await ours.capture("ours", "raw");
    await ours.open(capture);
    for (const path of ["a.txt", "b.txt", "d/c.txt"]) writeFileSync(tree.path(path), "changed");
    zeroStored(tree, "the content of b");
    const before = listTree(tree.root);
    expect(await refusalCode(ours.restore(capture))).toBe("RESTORE_FAILED");
    expect(listTree(tree.root)).toEqual(before);
  });

  it("that are damaged do not block work on other files", async () => {
    const tree = makeTree({ "d/b.txt": "the content of b" });
    await runKeptCall(openTree(tree), () => writeFileSync(tree.path("large"), Buffer.alloc(17_000_000, "l")));
    zeroStored(tree, "b.txt");
    const next = openTree(tree);
    await runKeptCall(next, () => writeFileSync(tree.path("a.txt"), "changed"), "handle");
    expect(await refusalCode(next.sweep())).toBe("RESTORE_FAILED");
  });
});
