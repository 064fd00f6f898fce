import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Access, Capture } from "../../src/core/ports/resource.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import type { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { openTrees } from "./open-trees.ts";
import { refusalCode, type TestTree } from "./test-tree.ts";
import { listTree } from "./tree-listing.ts";

const { makeTree, openTree } = openTrees();

type Work = (files: Filesystem) => Promise<unknown>;

async function runClosedCall(resource: HostFilesystem, work: Work, access: Access = "handle"): Promise<Capture> {
  const capture = await resource.capture("work", access);
  await work(await resource.open(capture));
  await resource.close(capture);
  return capture;
}

async function runKeptCall(resource: HostFilesystem, work: Work, access: Access = "handle"): Promise<Capture> {
  const capture = await runClosedCall(resource, work, access);
  await resource.keep(capture);
  return capture;
}

const capturesFile = (tree: TestTree): string => join(tree.store, "captures");
const before = (capture: Capture) => ({ capture, side: "before" }) as const;

/** Rewinds the tree to the state before a call, by a call of its own. */
async function rewindTo(resource: HostFilesystem, to: Capture, access: Access = "handle"): Promise<void> {
  const capture = await resource.capture("back", access);
  await resource.open(capture);
  await resource.rewind(capture, before(to));
  await resource.close(capture);
  await resource.keep(capture);
}

describe("stored captures", () => {
  it("keep each content once, for any number of calls", async () => {
    const big = "b".repeat(100_000);
    const tree = makeTree({ one: big, two: big });
    const resource = openTree(tree);
    const first = await runKeptCall(resource, (files) => files.write("one", "1"));
    const size = () => (statSync(capturesFile(tree)).size / 100_000) | 0;
    const once = size();
    await runKeptCall(resource, (files) => files.write("two", "2"));
    await runKeptCall(resource, (files) => files.write("two", big));
    await runKeptCall(resource, (files) => files.write("two", "3"));
    expect(size()).toBe(once);
    await rewindTo(resource, first);
    expect([readFileSync(tree.path("one"), "utf8"), readFileSync(tree.path("two"), "utf8")]).toEqual([big, big]);
  });

  it("keep a content while any capture needs it", async () => {
    const big = "b".repeat(3_000_000);
    const tree = makeTree({ one: big, two: big });
    const resource = openTree(tree, { limits: { keptCaptures: 1 } });
    await runKeptCall(resource, (files) => files.write("one", "1"));
    const second = await runKeptCall(resource, (files) => files.write("two", "2"));
    // Creates enough unused data that the file is rewritten.
    for (let count = 0; count < 4; count += 1) {
      const failing = await resource.capture("fails", "handle");
      await (await resource.open(failing)).write("one", `${count}`.repeat(3_000_000));
      await (await resource.open(failing)).delete("one");
      await resource.restore(failing);
      writeFileSync(tree.path("one"), `${count}`.repeat(3_000_000));
      await resource.release(failing);
    }
    expect(statSync(capturesFile(tree)).size).toBeLessThan(9_000_000);
    await resource.dispose();
    const next = openTree(tree);
    await rewindTo(next, second);
    expect(readFileSync(tree.path("two"), "utf8")).toBe(big);
  });

  it("drop the oldest captures beyond the byte limit and report them as dropped", async () => {
    const tree = makeTree({ big: "b".repeat(50_000) });
    const resource = openTree(tree, { limits: { keptBytes: 120_000 } });
    const captures: Capture[] = [];
    for (let count = 0; count < 5; count += 1)
      captures.push(await runKeptCall(resource, (files) => files.write("big", `${count}`.repeat(50_000))));
    const now = await resource.kept();
    expect(now.isComplete).toBe(false);
    expect(now.captures.map(({ id }) => id)).toEqual(captures.slice(-2).map(({ id }) => id));
    const [dropped] = captures as [Capture];
    expect(await refusalCode(resource.diff(before(dropped), "now"))).toBe("CAPTURE_NOT_FOUND");
    await resource.dispose();
    expect(await openTree(tree).kept()).toMatchObject({ isComplete: false });
  });

  it("remove contents that only dropped captures needed", async () => {
    const tree = makeTree();
    const resource = openTree(tree, { limits: { keptCaptures: 2 } });
    const packs = () =>
      readdirSync(join(tree.store, "objects")).reduce(
        (sum, name) => sum + statSync(join(tree.store, "objects", name)).size,
        0,
      );
    for (let count = 0; count < 30; count += 1)
      await runKeptCall(
        resource,
        async () => writeFileSync(tree.path("big"), Buffer.alloc(2_000_000, count + 1)),
        "raw",
      );
    expect(packs()).toBeLessThan(40_000_000);
    const { captures } = await resource.kept();
    await rewindTo(resource, captures[0] as Capture, "raw");
    expect(readFileSync(tree.path("big"))[0]).toBe(28);
    // Another process has no cache and finds the contents on disk.
    await resource.dispose();
    const next = openTree(tree);
    await rewindTo(next, captures[1] as Capture, "raw");
    expect(readFileSync(tree.path("big"))[0]).toBe(29);
  });

  it("are found by a process that opened the tree before another one dropped some", async () => {
    const tree = makeTree({ big: "b".repeat(100_000) });
    const [ours, theirs] = [openTree(tree), openTree(tree)];
    await runKeptCall(ours, (files) => files.write("a.txt", "1"), "raw");
    await runKeptCall(theirs, async () => writeFileSync(tree.path("big"), "theirs"), "raw");
    const second = await runKeptCall(ours, (files) => files.write("a.txt", "2"), "raw");
    await ours.release(second);
    await ours.sweep();
    await runKeptCall(theirs, (files) => files.write("a.txt", "only theirs"), "raw");
    const last = await runKeptCall(theirs, (files) => files.write("a.txt", "4"), "raw");
    await rewindTo(ours, last, "raw");
    expect(readFileSync(tree.path("a.txt"), "utf8")).toBe("only theirs");
  });
});

describe("closed call whose outcome is unknown", () => {
  it("blocks other calls until it is kept or restored", async () => {
    const tree = makeTree();
    const dead = openTree(tree);
    const capture = await runClosedCall(dead, (files) => files.write("a.txt", "changed"));
    await dead.dispose();
    const next = openTree(tree);
    expect(await refusalCode(next.capture("next", "handle"))).toBe("RESOURCE_BUSY");
    expect(await next.left()).toMatchObject({ capture: { id: capture.id, tag: "work" }, isClosed: true });
    await next.keep(capture);
    expect(await next.left()).toBeNull();
    expect(readFileSync(tree.path("a.txt"), "utf8")).toBe("changed");
    await next.close(await next.capture("next", "handle"));
  });

  it("passes to the next process when its own process gives it up", async () => {
    const tree = makeTree();
    const resource = openTree(tree);
    const capture = await runClosedCall(resource, (files) => files.write("a.txt", "changed"));
    await resource.leave(capture);
    expect(await refusalCode(resource.capture("next", "handle"))).toBe("RESOURCE_BUSY");
    const left = await resource.left();
    await resource.restore(left?.capture as Capture);
    expect(readFileSync(tree.path("a.txt"), "utf8")).toBe("aaa");
  });
});

describe("captures file", () => {
  it("is read up to the last complete record", async () => {
    const tree = makeTree();
    const dead = openTree(tree);
    const capture = await dead.capture("dead", "handle");
    await (await dead.open(capture)).write("a.txt", "changed");
    await dead.dispose();
    const whole = readFileSync(capturesFile(tree));
    const end = whole.findLastIndex((byte) => byte !== 0) + 1;
    for (const tail of ["\0\0\0\u0010half a record", "x".repeat(5000), "\u00ff".repeat(40)]) {
      writeFileSync(capturesFile(tree), whole.subarray(0, end));
      appendFileSync(capturesFile(tree), tail);
      const next = openTree(tree);
      await next.restore(capture);
      expect(readFileSync(tree.path("a.txt"), "utf8"), tail.slice(0, 9)).toBe("aaa");
      await next.dispose();
      writeFileSync(tree.path("a.txt"), "changed");
    }
  });

  it("does not take a tool's bytes after a torn record for a record", async () => {
    const tree = makeTree();
    const writing = openTree(tree);
    const capture = await writing.capture("writing", "handle");
    await (await writing.open(capture)).write("a.txt", "changed");
    await writing.dispose();
    // A complete record of another file, written as content. Its checksum has the salt of the other file, so it does
    // not count.
    const other = makeTree();
    const forging = openTree(other);
    const forged = await forging.capture("forged", "handle");
    await (await forging.open(forged)).write("evil", "x");
    await forging.dispose();
    const records = readFileSync(capturesFile(other)).subarray(16);
    const end = readFileSync(capturesFile(tree)).findLastIndex((byte) => byte !== 0) + 1;
    truncateSync(capturesFile(tree), end);
    appendFileSync(capturesFile(tree), records);
    const next = openTree(tree);
    expect(await refusalCode(next.restore(forged))).toBe("CAPTURE_NOT_FOUND");
    await next.restore(capture);
    expect(readFileSync(tree.path("a.txt"), "utf8")).toBe("aaa");
  });

  it("reports damage in the middle and changes nothing", async () => {
    const tree = makeTree({ "b.txt": "the content of b", "c.txt": "ccc" });
    const dead = openTree(tree);
    const capture = await dead.capture("dead", "handle");
    const files = await dead.open(capture);
    for (const path of ["a.txt", "b.txt", "c.txt"]) await files.write(path, "changed");
    await dead.dispose();
    const bytes = readFileSync(capturesFile(tree));
    bytes[bytes.indexOf("the content of b")] = 88;
    writeFileSync(capturesFile(tree), bytes);
    const now = listTree(tree.root);
    const next = openTree(tree);
    expect(await refusalCode(next.restore(capture))).toBe("RESTORE_FAILED");
    expect(listTree(tree.root)).toEqual(now);
  });
});

describe("contents of raw captures", () => {
  it("report damage instead of restoring nothing", async () => {
    const tree = makeTree({ "b.txt": "the content of b" });
    const dead = openTree(tree);
    const capture = await dead.capture("dead", "raw");
    await dead.open(capture);
    writeFileSync(tree.path("b.txt"), "changed");
    await dead.dispose();
    const folder = join(tree.store, "objects");
    for (const name of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, name));
      const at = bytes.indexOf("the content of b");
      if (at >= 0) bytes[at] = 88;
      writeFileSync(join(folder, name), bytes);
    }
    expect(await refusalCode(openTree(tree).restore(capture))).toBe("RESTORE_FAILED");
  });
});

describe("restore across raw calls and calls through the handle", () => {
  it("is exact where a file was rewritten in place and later replaced", async () => {
    const tree = makeTree({ "d/b.txt": "bbb" });
    const resource = openTree(tree);
    const listings = [listTree(tree.root)];
    const captures: Capture[] = [];
    const replace = async () => {
      rmSync(tree.path("d/b.txt"));
      writeFileSync(tree.path("d/b.txt"), "another");
    };
    const calls: readonly [Access, Work][] = [
      ["raw", async () => writeFileSync(tree.path("a.txt"), "by a shell")],
      ["handle", (files) => files.write("d/b.txt", "written in its place")],
      ["raw", replace],
    ];
    for (const [access, work] of calls) {
      captures.push(await runKeptCall(resource, work, access));
      listings.push(listTree(tree.root));
    }
    for (const at of [1, 0] as const) {
      await rewindTo(resource, captures[at] as Capture, "raw");
      expect(listTree(tree.root), `before call ${at + 1}`).toEqual(listings[at]);
    }
  });

  it("is exact in both directions", async () => {
    const tree = makeTree({ "d/b.txt": "bbb" });
    const resource = openTree(tree);
    const listings = [listTree(tree.root)];
    const captures: Capture[] = [];
    const calls: readonly [Access, Work][] = [
      ["handle", async (files) => [await files.delete("d/b.txt"), await files.write("d/c.txt", "c")]],
      ["raw", async () => writeFileSync(tree.path("a.txt"), "by a shell")],
      ["handle", async (files) => [await files.delete("d", { recursive: true }), await files.write("d", "a file")]],
      ["handle", async (files) => files.append("a.txt", ", and more")],
    ];
    for (const [access, work] of calls) {
      captures.push(await runKeptCall(resource, work, access));
      listings.push(listTree(tree.root));
    }
    const [a, b, c, d] = captures as [Capture, Capture, Capture, Capture];
    for (const [capture, listing] of [
      [c, 2],
      [d, 3],
      [a, 0],
      [b, 1],
    ] as const) {
      await rewindTo(resource, capture, "raw");
      expect(listTree(tree.root), `before call ${listing + 1}`).toEqual(listings[listing]);
    }
    expect(await refusalCode(rewindTo(resource, a, "handle"))).toBe("NOT_POSSIBLE");
  });
});
