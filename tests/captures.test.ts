import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Access, Capture } from "../src/core/resource.ts";
import type { Filesystem } from "../src/resources/filesystem.ts";
import type { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { portrait } from "./fidelity/portrait.ts";
import { openTrees } from "./open-trees.ts";
import { refusal, type WorkingTree } from "./working-tree.ts";

const { tree, over } = openTrees();

type Work = (files: Filesystem) => Promise<unknown>;

async function closed(resource: HostFilesystem, work: Work, access: Access = "handle"): Promise<Capture> {
  const capture = await resource.capture("work", access);
  await work(await resource.open(capture));
  await resource.close(capture);
  return capture;
}

async function kept(resource: HostFilesystem, work: Work, access: Access = "handle"): Promise<Capture> {
  const capture = await closed(resource, work, access);
  await resource.keep(capture);
  return capture;
}

const fileOf = (made: WorkingTree): string => join(made.store, "captures");
const before = (capture: Capture) => ({ capture, side: "before" }) as const;

/** Makes the tree what it was then, by a call of its own. */
async function wentBack(resource: HostFilesystem, to: Capture, access: Access = "handle"): Promise<void> {
  const capture = await resource.capture("back", access);
  await resource.open(capture);
  await resource.rewind(capture, before(to));
  await resource.close(capture);
  await resource.keep(capture);
}

describe("what is kept to go back to calls", () => {
  it("has each content once, however many calls it was there before", async () => {
    const big = "b".repeat(100_000);
    const made = tree({ one: big, two: big });
    const resource = over(made);
    const first = await kept(resource, (files) => files.write("one", "1"));
    const size = () => (statSync(fileOf(made)).size / 100_000) | 0;
    const once = size();
    await kept(resource, (files) => files.write("two", "2"));
    await kept(resource, (files) => files.write("two", big));
    await kept(resource, (files) => files.write("two", "3"));
    expect(size()).toBe(once);
    await wentBack(resource, first);
    expect([readFileSync(made.path("one"), "utf8"), readFileSync(made.path("two"), "utf8")]).toEqual([big, big]);
  });

  it("outlives the calls that brought it, as long as another needs it", async () => {
    const big = "b".repeat(3_000_000);
    const made = tree({ one: big, two: big });
    const resource = over(made, { limits: { keptCaptures: 1 } });
    await kept(resource, (files) => files.write("one", "1"));
    const second = await kept(resource, (files) => files.write("two", "2"));
    // Enough of what nobody needs that the file is written anew.
    for (let count = 0; count < 4; count += 1) {
      const failing = await resource.capture("fails", "handle");
      await (await resource.open(failing)).write("one", `${count}`.repeat(3_000_000));
      await (await resource.open(failing)).delete("one");
      await resource.restore(failing);
      writeFileSync(made.path("one"), `${count}`.repeat(3_000_000));
      await resource.release(failing);
    }
    expect(statSync(fileOf(made)).size).toBeLessThan(9_000_000);
    await resource.dispose();
    const next = over(made);
    await wentBack(next, second);
    expect(readFileSync(made.path("two"), "utf8")).toBe(big);
  });

  it("is forgotten beyond so many bytes, the oldest first, and told to be so", async () => {
    const made = tree({ big: "b".repeat(50_000) });
    const resource = over(made, { limits: { keptBytes: 120_000 } });
    const captures: Capture[] = [];
    for (let count = 0; count < 5; count += 1)
      captures.push(await kept(resource, (files) => files.write("big", `${count}`.repeat(50_000))));
    const now = await resource.kept();
    expect(now.isComplete).toBe(false);
    expect(now.captures.map(({ id }) => id)).toEqual(captures.slice(-2).map(({ id }) => id));
    const [gone] = captures as [Capture];
    expect(await refusal(resource.diff(before(gone), "now"))).toBe("CAPTURE_NOT_FOUND");
    await resource.dispose();
    expect(await over(made).kept()).toMatchObject({ isComplete: false });
  });

  it("of trees is swept by itself: what only forgotten calls needed is thrown away", async () => {
    const made = tree();
    const resource = over(made, { limits: { keptCaptures: 2 } });
    const packs = () =>
      readdirSync(join(made.store, "objects")).reduce(
        (sum, name) => sum + statSync(join(made.store, "objects", name)).size,
        0,
      );
    for (let count = 0; count < 30; count += 1)
      await kept(resource, async () => writeFileSync(made.path("big"), Buffer.alloc(2_000_000, count + 1)), "raw");
    expect(packs()).toBeLessThan(40_000_000);
    const { captures } = await resource.kept();
    await wentBack(resource, captures[0] as Capture, "raw");
    expect(readFileSync(made.path("big"))[0]).toBe(28);
    // Another process knows nothing of it, and finds what it needs.
    await resource.dispose();
    const next = over(made);
    await wentBack(next, captures[1] as Capture, "raw");
    expect(readFileSync(made.path("big"))[0]).toBe(29);
  });

  it("is found by another process that was there before, whatever the first has thrown away", async () => {
    const made = tree({ big: "b".repeat(100_000) });
    const [ours, theirs] = [over(made), over(made)];
    await kept(ours, (files) => files.write("a.txt", "1"), "raw");
    await kept(theirs, async () => writeFileSync(made.path("big"), "theirs"), "raw");
    const second = await kept(ours, (files) => files.write("a.txt", "2"), "raw");
    await ours.release(second);
    await ours.sweep();
    await kept(theirs, (files) => files.write("a.txt", "only theirs"), "raw");
    const last = await kept(theirs, (files) => files.write("a.txt", "4"), "raw");
    await wentBack(ours, last, "raw");
    expect(readFileSync(made.path("a.txt"), "utf8")).toBe("only theirs");
  });
});

describe("a call that was closed, and of which nobody knows whether it stands", () => {
  it("keeps everybody out until it is kept or put back", async () => {
    const made = tree();
    const dead = over(made);
    const capture = await closed(dead, (files) => files.write("a.txt", "changed"));
    await dead.dispose();
    const next = over(made);
    expect(await refusal(next.capture("next", "handle"))).toBe("RESOURCE_BUSY");
    expect(await next.left()).toMatchObject({ capture: { id: capture.id, tag: "work" }, isClosed: true });
    await next.keep(capture);
    expect(await next.left()).toBeNull();
    expect(readFileSync(made.path("a.txt"), "utf8")).toBe("changed");
    await next.close(await next.capture("next", "handle"));
  });

  it("is left to whoever comes next, if its own process gives it up", async () => {
    const made = tree();
    const resource = over(made);
    const capture = await closed(resource, (files) => files.write("a.txt", "changed"));
    await resource.leave(capture);
    expect(await refusal(resource.capture("next", "handle"))).toBe("RESOURCE_BUSY");
    const left = await resource.left();
    await resource.restore(left?.capture as Capture);
    expect(readFileSync(made.path("a.txt"), "utf8")).toBe("aaa");
  });
});

describe("the file of captures", () => {
  it("is read up to the last whole record, whatever is behind it", async () => {
    const made = tree();
    const dead = over(made);
    const capture = await dead.capture("dead", "handle");
    await (await dead.open(capture)).write("a.txt", "changed");
    await dead.dispose();
    const whole = readFileSync(fileOf(made));
    const end = whole.findLastIndex((byte) => byte !== 0) + 1;
    for (const tail of ["\0\0\0\u0010half a record", "x".repeat(5000), "\u00ff".repeat(40)]) {
      writeFileSync(fileOf(made), whole.subarray(0, end));
      appendFileSync(fileOf(made), tail);
      const next = over(made);
      await next.restore(capture);
      expect(readFileSync(made.path("a.txt"), "utf8"), tail.slice(0, 9)).toBe("aaa");
      await next.dispose();
      writeFileSync(made.path("a.txt"), "changed");
    }
  });

  it("does not take what a tool wrote for a record, where one was left half written", async () => {
    const made = tree();
    const writing = over(made);
    const capture = await writing.capture("writing", "handle");
    await (await writing.open(capture)).write("a.txt", "changed");
    await writing.dispose();
    // A whole record of another file, as content: only who knows how this file begins could make one that counts.
    const other = tree();
    const forging = over(other);
    const forged = await forging.capture("forged", "handle");
    await (await forging.open(forged)).write("evil", "x");
    await forging.dispose();
    const records = readFileSync(fileOf(other)).subarray(16);
    const end = readFileSync(fileOf(made)).findLastIndex((byte) => byte !== 0) + 1;
    truncateSync(fileOf(made), end);
    appendFileSync(fileOf(made), records);
    const next = over(made);
    expect(await refusal(next.restore(forged))).toBe("CAPTURE_NOT_FOUND");
    await next.restore(capture);
    expect(readFileSync(made.path("a.txt"), "utf8")).toBe("aaa");
  });

  it("that is damaged in the middle is told so, and nothing is touched", async () => {
    const made = tree({ "b.txt": "the content of b", "c.txt": "ccc" });
    const dead = over(made);
    const capture = await dead.capture("dead", "handle");
    const files = await dead.open(capture);
    for (const path of ["a.txt", "b.txt", "c.txt"]) await files.write(path, "changed");
    await dead.dispose();
    const bytes = readFileSync(fileOf(made));
    bytes[bytes.indexOf("the content of b")] = 88;
    writeFileSync(fileOf(made), bytes);
    const now = portrait(made.root);
    const next = over(made);
    expect(await refusal(next.restore(capture))).toBe("RESTORE_FAILED");
    expect(portrait(made.root)).toEqual(now);
  });
});

describe("the contents that raw calls are kept with", () => {
  it("that are damaged are told so: nobody takes them for nothing to put back", async () => {
    const made = tree({ "b.txt": "the content of b" });
    const dead = over(made);
    const capture = await dead.capture("dead", "raw");
    await dead.open(capture);
    writeFileSync(made.path("b.txt"), "changed");
    await dead.dispose();
    const folder = join(made.store, "objects");
    for (const name of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, name));
      const at = bytes.indexOf("the content of b");
      if (at >= 0) bytes[at] = 88;
      writeFileSync(join(folder, name), bytes);
    }
    expect(await refusal(over(made).restore(capture))).toBe("RESTORE_FAILED");
  });
});

describe("going back with raw calls and calls through the handle in between", () => {
  it("is exact where a file was written in its place, and replaced by another later", async () => {
    const made = tree({ "d/b.txt": "bbb" });
    const resource = over(made);
    const pictures = [portrait(made.root)];
    const captures: Capture[] = [];
    const replace = async () => {
      rmSync(made.path("d/b.txt"));
      writeFileSync(made.path("d/b.txt"), "another");
    };
    const works: readonly [Access, Work][] = [
      ["raw", async () => writeFileSync(made.path("a.txt"), "by a shell")],
      ["handle", (files) => files.write("d/b.txt", "written in its place")],
      ["raw", replace],
    ];
    for (const [access, work] of works) {
      captures.push(await kept(resource, work, access));
      pictures.push(portrait(made.root));
    }
    for (const at of [1, 0] as const) {
      await wentBack(resource, captures[at] as Capture, "raw");
      expect(portrait(made.root), `before call ${at + 1}`).toEqual(pictures[at]);
    }
  });

  it("is exact, and can be gone forth again", async () => {
    const made = tree({ "d/b.txt": "bbb" });
    const resource = over(made);
    const pictures = [portrait(made.root)];
    const captures: Capture[] = [];
    const works: readonly [Access, Work][] = [
      ["handle", async (files) => [await files.delete("d/b.txt"), await files.write("d/c.txt", "c")]],
      ["raw", async () => writeFileSync(made.path("a.txt"), "by a shell")],
      ["handle", async (files) => [await files.delete("d", { recursive: true }), await files.write("d", "a file")]],
      ["handle", async (files) => files.append("a.txt", ", and more")],
    ];
    for (const [access, work] of works) {
      captures.push(await kept(resource, work, access));
      pictures.push(portrait(made.root));
    }
    const [a, b, c, d] = captures as [Capture, Capture, Capture, Capture];
    for (const [capture, picture] of [
      [c, 2],
      [d, 3],
      [a, 0],
      [b, 1],
    ] as const) {
      await wentBack(resource, capture, "raw");
      expect(portrait(made.root), `before call ${picture + 1}`).toEqual(pictures[picture]);
    }
    expect(await refusal(wentBack(resource, a, "handle"))).toBe("NOT_POSSIBLE");
  });
});
