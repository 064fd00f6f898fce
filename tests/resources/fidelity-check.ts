import { ChildProcess } from "node:child_process";
import { chownSync } from "node:fs";
import { FaultError } from "../../src/core/values/fault.ts";
import type { Disk } from "../../src/resources/host/disk.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import type { FilesystemFeature } from "./filesystem-features.ts";
import { createTestTree, memoryFolder, type TestTree } from "./test-tree.ts";
import { listTree } from "./tree-listing.ts";

export interface FidelityResult {
  readonly feature: string;
  readonly promise: FilesystemFeature["promise"];
  /** The promise if it is kept, otherwise a description of the failure. */
  readonly found: string;
}

const nobody = 65_534;

/** Creates a feature in a tree, lets a tool change it, restores the tree and compares it with its state before. */
export async function checkFeature(feature: FilesystemFeature, disk?: Disk): Promise<FidelityResult> {
  const place = feature.large === true ? memoryFolder : undefined;
  const tree = createTestTree({ "kept.txt": "beside it", "deep/er/file.txt": "below" }, place);
  const attributes = /attributes/.test(feature.name) ? "refuse" : "uncovered";
  const open = (): HostFilesystem => new HostFilesystem({ ...tree, attributes, ...(disk && { disk }) });
  try {
    const found = await runAs(feature.withoutRoot === true ? tree : null, () => checkRestore(feature, tree, open));
    return { feature: feature.name, promise: feature.promise, found };
  } finally {
    tree.clear();
  }
}

async function checkRestore(feature: FilesystemFeature, tree: TestTree, open: () => HostFilesystem): Promise<string> {
  await feature.prepare(tree);
  const before = isRefused(feature) ? [] : listTree(tree.root);
  const resource = open();
  const children: ChildProcess[] = [];
  try {
    const capture = await resource.capture("check", "raw");
    if (feature.tool === null) return "captured, although it cannot be restored";
    await resource.open(capture);
    const made = await feature.tool(tree);
    if (made instanceof ChildProcess) children.push(made);
    if (children.length > 0)
      await resource
        .close(capture)
        .then(() => Promise.reject(new Error("the running process was not detected")), assertRestless);
    for (const child of children) await waitForEnd(child);
    await resource.restore(capture);
    const after = listTree(tree.root);
    const [then, now] = [new Set(before), new Set(after)];
    const different = [...before.filter((line) => !now.has(line)), ...after.filter((line) => !then.has(line))];
    return different.length === 0 ? "restored" : `different: ${different.slice(0, 10).join(" | ")}`;
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    return error.fault.code === "RESOURCE_UNFIT" ? "refused" : `${error.fault.code}: ${error.fault.message}`;
  } finally {
    for (const child of children) await waitForEnd(child);
    await resource.dispose();
  }
}

const isRefused = ({ promise }: FilesystemFeature): boolean => promise === "refused";

function assertRestless(error: unknown): void {
  if (!(error instanceof FaultError && error.fault.code === "RESOURCE_RESTLESS")) throw error;
}

async function waitForEnd(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.stdin?.end();
  await new Promise((resolve) => child.once("exit", resolve));
}

/** Runs the work without root permissions, if this process has them. */
async function runAs(tree: TestTree | null, work: () => Promise<string>): Promise<string> {
  if (tree === null || process.geteuid?.() !== 0) return work();
  const top = tree.root.replace(/\/tree$/, "");
  for (const path of [
    top,
    tree.root,
    tree.outside,
    ...["kept.txt", "deep", "deep/er", "deep/er/file.txt"].map(tree.path),
  ])
    chownSync(path, nobody, nobody);
  process.setegid?.(nobody);
  process.seteuid?.(nobody);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}
