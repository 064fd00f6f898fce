import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Access, Capture } from "../../src/core/ports/resource.ts";
import type { RevertReport } from "../../src/core/ports/revert-report.ts";
import type { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { openTrees } from "./open-trees.ts";
import type { TestTree } from "./test-tree.ts";

const { makeTree, openTree } = openTrees();

/** Runs a call that writes files, and keeps its capture. */
async function runKeptCall(
  { tree, resource, access }: { readonly tree: TestTree; readonly resource: HostFilesystem; readonly access: Access },
  tag: string,
  writes: Readonly<Record<string, string>>,
): Promise<Capture> {
  const capture = await resource.capture(tag, access);
  const files = await resource.open(capture);
  for (const [path, text] of Object.entries(writes)) {
    if (access === "handle") await files.write(path, text);
    else {
      mkdirSync(tree.path(path.split("/").slice(0, -1).join("/")), { recursive: true });
      writeFileSync(tree.path(path), text);
    }
  }
  await resource.close(capture);
  await resource.keep(capture);
  return capture;
}

async function revertAndKeep(resource: HostFilesystem, access: Access, calls: readonly Capture[]) {
  const capture = await resource.capture("revert", access);
  const report: RevertReport = await resource.revert(capture, calls);
  await resource.close(capture);
  await resource.keep(capture);
  return { capture, report };
}

const accesses = [["handle"], ["raw"]] as const;

it.each(accesses)("puts back what calls with %s access wrote, and removes what they made", async (access) => {
  const tree = makeTree({ "b.txt": "bbb" });
  const resource = openTree(tree);
  const calls = { tree, resource, access };
  const one = await runKeptCall(calls, "one", { "a.txt": "plan 1", "made/new.txt": "plan" });
  const two = await runKeptCall(calls, "two", { "a.txt": "plan 2", "b.txt": "plan 2" });
  const { report } = await revertAndKeep(resource, access, [one, two]);
  expect(report).toEqual({ restored: 3, left: 0, places: [] });
  const texts = ["a.txt", "b.txt"].map((name) => readFileSync(tree.path(name), "utf8"));
  expect([texts, existsSync(tree.path("made"))]).toEqual([["aaa", "bbb"], false]);
});

it.each(accesses)(
  "leaves and lists the files that a program or a call with %s access changed since",
  async (access) => {
    const tree = makeTree({ "b.txt": "bbb", "c.txt": "ccc" });
    const resource = openTree(tree);
    const calls = { tree, resource, access };
    const plan = { "a.txt": "plan", "b.txt": "plan", "c.txt": "plan", "made/new.txt": "plan" };
    const own = await runKeptCall(calls, "own", plan);
    await runKeptCall(calls, "other", { "b.txt": "another call" });
    writeFileSync(tree.path("c.txt"), "another program");
    writeFileSync(tree.path("made/foreign.txt"), "another program");
    const { report } = await revertAndKeep(resource, access, [own]);
    expect(report.restored).toBe(2);
    expect(report.left).toBe(3);
    expect(report.places).toEqual(
      expect.arrayContaining([
        { path: "b.txt", why: '"other" has changed it since' },
        { path: "c.txt", why: "another program has changed it since" },
        { path: "made", why: "it has entries that the plan did not make" },
      ]),
    );
    const texts = ["a.txt", "b.txt", "c.txt", "made/foreign.txt"].map((name) => readFileSync(tree.path(name), "utf8"));
    expect(texts).toEqual(["aaa", "another call", "another program", "another program"]);
    expect(existsSync(tree.path("made/new.txt"))).toBe(false);
  },
);

it.each(accesses)("with %s access whose process dies is taken back as a whole, and can be repeated", async (access) => {
  const tree = makeTree();
  const first = openTree(tree);
  const own = await runKeptCall({ tree, resource: first, access }, "own", { "a.txt": "plan", "new.txt": "plan" });
  await first.revert(await first.capture("revert", access), [own]);
  expect([readFileSync(tree.path("a.txt"), "utf8"), existsSync(tree.path("new.txt"))]).toEqual(["aaa", false]);
  await first.dispose();

  const next = openTree(tree);
  const left = await next.left();
  await next.restore(left?.capture as Capture);
  expect(["a.txt", "new.txt"].map((name) => readFileSync(tree.path(name), "utf8"))).toEqual(["plan", "plan"]);
  const { report } = await revertAndKeep(next, access, [own]);
  expect(report).toEqual({ restored: 2, left: 0, places: [] });
  expect([readFileSync(tree.path("a.txt"), "utf8"), existsSync(tree.path("new.txt"))]).toEqual(["aaa", false]);
});
