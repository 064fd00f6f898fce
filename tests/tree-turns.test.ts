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
import type { Access, Capture } from "../src/core/resource.ts";
import { type Disk, realDisk } from "../src/resources/host/disk.ts";
import type { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { Death } from "./dying-disk.ts";
import { portrait } from "./fidelity/portrait.ts";
import { openTrees } from "./open-trees.ts";
import { refusal, type WorkingTree } from "./working-tree.ts";

const { tree, over } = openTrees();

async function kept(resource: HostFilesystem, work: () => void, access: Access = "raw"): Promise<Capture> {
  const capture = await resource.capture("work", access);
  await resource.open(capture);
  work();
  await resource.close(capture);
  await resource.keep(capture);
  return capture;
}

const objects = (made: WorkingTree): string => join(made.store, "objects");

/** Makes zeros of a text, wherever it is kept. */
function damage(made: WorkingTree, text: string): void {
  for (const name of readdirSync(objects(made))) {
    const bytes = readFileSync(join(objects(made), name));
    const at = bytes.indexOf(text);
    if (at >= 0) bytes.fill(0, at, at + text.length);
    writeFileSync(join(objects(made), name), bytes);
  }
}

describe("processes that take turns at one tree", () => {
  it("write nothing where another has thrown away what was there", async () => {
    const made = tree();
    const [ours, theirs] = [over(made), over(made)];
    await ours.release(await kept(ours, () => writeFileSync(made.path("a.txt"), "1")));
    expect(await theirs.sweep()).toBe(1);
    const before = portrait(made.root);
    const capture = await ours.capture("ours", "raw");
    await ours.open(capture);
    rmSync(made.path("a.txt"));
    await ours.dispose();
    await theirs.restore(capture);
    expect(portrait(made.root)).toEqual(before);
  });

  it("share what they keep contents in, however often they take turns", async () => {
    const made = tree();
    const both = [over(made), over(made)] as const;
    for (let turn = 0; turn < 8; turn += 1)
      await kept(both[turn % 2] as HostFilesystem, () => writeFileSync(made.path("a.txt"), `${turn}`));
    expect(readdirSync(objects(made))).toHaveLength(1);
    const third = over(made);
    const { captures } = await third.kept();
    const back = await third.capture("back", "raw");
    await third.rewind(back, { capture: captures[0] as Capture, side: "before" });
    expect(readFileSync(made.path("a.txt"), "utf8")).toBe("aaa");
  });

  it("read again what changed meanwhile, and not all the rest", async () => {
    const made = tree({ "b.txt": "bbb", "c.txt": "ccc" });
    const read: string[] = [];
    const openSync = ((path: string, flags: number, mode?: number) => {
      if (String(path).startsWith(`${made.root}/`)) read.push(String(path).slice(made.root.length + 1));
      return realDisk.openSync(path, flags, mode);
    }) as Disk["openSync"];
    // Late enough that nothing can change any more without showing it.
    const ours = over(made, { disk: { ...realDisk, openSync }, now: () => Date.now() + 60_000 });
    await kept(ours, () => {});
    await kept(over(made), () => writeFileSync(made.path("b.txt"), "theirs"));
    read.length = 0;
    await ours.capture("ours", "raw");
    expect(read).toEqual(["b.txt"]);
  });
});

describe("the right to a tree", () => {
  it("is had when it was got, and not before", async () => {
    const made = tree();
    const [ours, theirs] = [over(made), over(made)];
    await theirs.capture("theirs", "handle");
    const asked = [ours.capture("ours", "handle"), ours.kept(), ours.sweep()];
    expect(await Promise.all(asked.map((one) => refusal(one)))).toEqual(asked.map(() => "RESOURCE_BUSY"));
  });

  it("is shared with whoever only looks, and kept until the last has ended", async () => {
    const made = tree();
    const [ours, theirs] = [over(made), over(made)];
    const looking = ours.kept();
    const capture = await ours.capture("ours", "handle");
    const before = ours.diff("now", "now");
    await ours.release(capture);
    await Promise.all([looking, before]);
    await theirs.capture("theirs", "handle");
  });

  it("is not waited for by one that lets go of it meanwhile", async () => {
    const ours = over(tree());
    const asked = refusal(ours.capture("ours", "handle"));
    await ours.dispose();
    expect(await asked).toBe("RESOURCE_BUSY");
  });
});

describe("what a process that died left beside the tree", () => {
  it("does not stop the file of captures from being written anew", async () => {
    const made = tree();
    const dead = over(made);
    await dead.capture("dead", "handle");
    await dead.dispose();
    const ours = over(made);
    for (let count = 0; count < 4; count += 1) {
      writeFileSync(made.path("a.txt"), `${count}`.repeat(3_000_000));
      const failing = await ours.capture("fails", "handle");
      await (await ours.open(failing)).write("a.txt", "changed");
      await ours.restore(failing);
      await ours.release(failing);
    }
    expect(statSync(join(made.store, "captures")).size).toBeLessThan(9_000_000);
  });

  it("is cleared away if it was not in place yet", async () => {
    const made = tree();
    await over(made).dispose();
    const left = join(made.store, "captures.0123456789ab.new");
    linkSync(join(made.store, "captures"), left);
    await over(made).kept();
    expect(existsSync(left)).toBe(false);
  });
});

describe("contents", () => {
  /** A process that dies before anything that it kept for its call was on disk. */
  const unsynced = async (made: WorkingTree): Promise<void> => {
    const fdatasyncSync = () => {
      throw new Death();
    };
    const dead = over(made, { disk: { ...realDisk, fdatasyncSync } });
    await expect(dead.capture("dead", "raw")).rejects.toThrow();
    await dead.dispose();
  };

  it("that were never synced are not taken for what they are said to be", async () => {
    const made = tree({ "b.txt": "the content of b" });
    await unsynced(made);
    damage(made, "the content of b");
    const ours = over(made);
    const capture = await ours.capture("ours", "raw");
    await ours.open(capture);
    rmSync(made.path("b.txt"));
    await ours.restore(capture);
    expect(readFileSync(made.path("b.txt"), "utf8")).toBe("the content of b");
  });

  it("that were never synced are synced before another call relies on them", async () => {
    const made = tree();
    await unsynced(made);
    const synced: number[] = [];
    const fdatasyncSync = (file: number): void => {
      synced.push(realDisk.fstatSync(file).ino);
      realDisk.fdatasyncSync(file);
    };
    await over(made, { disk: { ...realDisk, fdatasyncSync } }).capture("ours", "raw");
    const [pack] = readdirSync(objects(made)) as [string];
    expect(synced).toContain(statSync(join(objects(made), pack)).ino);
  });

  it("of a large file that changed between two looks are not kept under the name of the first", async () => {
    const large = "l".repeat(9_000_000);
    const made = tree({ large });
    let count = 0;
    const readLarge = ((file: number, ...rest: [Buffer, number, number, number]) => {
      if (realDisk.fstatSync(file).ino === statSync(made.path("large")).ino) count += 1;
      if (count === 3) writeFileSync(made.path("large"), "m".repeat(large.length));
      return readSync(file, ...rest);
    }) as Disk["readSync"];
    const ours = over(made, { disk: { ...realDisk, readSync: readLarge } });
    await kept(ours, () => {});
    writeFileSync(made.path("large"), large);
    const next = over(made);
    const capture = await next.capture("next", "raw");
    await next.open(capture);
    rmSync(made.path("large"));
    await next.restore(capture);
    expect(readFileSync(made.path("large"), "utf8") === large).toBe(true);
  });

  it("of a large file that shrinks while it is read are those of a tree that does not hold still", async () => {
    const made = tree({ large: "l".repeat(9_000_000) });
    const shrinking = ((file: number, ...rest: [Buffer, number, number, number]) => {
      const { ino, size } = statSync(made.path("large"));
      if (realDisk.fstatSync(file).ino === ino) truncateSync(made.path("large"), size - 1);
      return readSync(file, ...rest);
    }) as Disk["readSync"];
    const ours = over(made, { disk: { ...realDisk, readSync: shrinking } });
    expect(await refusal(ours.capture("ours", "raw"))).toBe("RESOURCE_RESTLESS");
  });

  it("that are damaged are told before anything is touched that others are needed for", async () => {
    const made = tree({ "b.txt": "the content of b", "d/c.txt": "ccc" });
    const ours = over(made);
    const capture = await ours.capture("ours", "raw");
    await ours.open(capture);
    for (const path of ["a.txt", "b.txt", "d/c.txt"]) writeFileSync(made.path(path), "changed");
    damage(made, "the content of b");
    const before = portrait(made.root);
    expect(await refusal(ours.restore(capture))).toBe("RESTORE_FAILED");
    expect(portrait(made.root)).toEqual(before);
  });

  it("that are damaged keep nobody from working on what is not", async () => {
    const made = tree({ "d/b.txt": "the content of b" });
    await kept(over(made), () => writeFileSync(made.path("large"), Buffer.alloc(17_000_000, "l")));
    damage(made, "b.txt");
    const next = over(made);
    await kept(next, () => writeFileSync(made.path("a.txt"), "changed"), "handle");
    expect(await refusal(next.sweep())).toBe("RESTORE_FAILED");
  });
});
