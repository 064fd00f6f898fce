import { ChildProcess } from "node:child_process";
import { chownSync } from "node:fs";
import { FaultError } from "../../src/core/fault.ts";
import type { Disk } from "../../src/resources/host/disk.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { quickPlace, type WorkingTree, workingTree } from "../working-tree.ts";
import type { Feature } from "./features.ts";
import { portrait } from "./portrait.ts";

export interface Trial {
  readonly feature: string;
  readonly promise: Feature["promise"];
  /** What came of it: the promise, or what was lost. */
  readonly found: string;
}

const nobody = 65_534;

/** Puts a feature into a tree, lets a tool loose on it, has that undone, and compares the tree with how it was. */
export async function tried(feature: Feature, disk?: Disk): Promise<Trial> {
  const place = feature.large === true ? quickPlace : undefined;
  const tree = workingTree({ "kept.txt": "beside it", "deep/er/file.txt": "below" }, place);
  const attributes = /attributes/.test(feature.name) ? "refuse" : "uncovered";
  const open = (): HostFilesystem => new HostFilesystem({ ...tree, attributes, ...(disk && { disk }) });
  try {
    const found = await as(feature.asNobody === true ? tree : null, () => outcome(feature, tree, open));
    return { feature: feature.name, promise: feature.promise, found };
  } finally {
    tree.clear();
  }
}

async function outcome(feature: Feature, tree: WorkingTree, open: () => HostFilesystem): Promise<string> {
  await feature.prepare(tree);
  const before = isRefused(feature) ? [] : portrait(tree.root);
  const resource = open();
  const left: ChildProcess[] = [];
  try {
    const capture = await resource.capture("trial", "raw");
    if (feature.tool === null) return "captured, though it could not be put back";
    await resource.open(capture);
    const made = await feature.tool(tree);
    if (made instanceof ChildProcess) left.push(made);
    if (left.length > 0)
      await resource.close(capture).then(() => Promise.reject(new Error("nobody noticed")), mustBeRestless);
    for (const child of left) await ended(child);
    await resource.restore(capture);
    const after = portrait(tree.root);
    const [then, now] = [new Set(before), new Set(after)];
    const different = [...before.filter((line) => !now.has(line)), ...after.filter((line) => !then.has(line))];
    return different.length === 0 ? "restored" : `different: ${different.slice(0, 10).join(" | ")}`;
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    return error.fault.code === "RESOURCE_UNFIT" ? "refused" : `${error.fault.code}: ${error.fault.message}`;
  } finally {
    for (const child of left) await ended(child);
    await resource.dispose();
  }
}

const isRefused = ({ promise }: Feature): boolean => promise === "refused";

function mustBeRestless(error: unknown): void {
  if (!(error instanceof FaultError && error.fault.code === "RESOURCE_RESTLESS")) throw error;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.stdin?.end();
  await new Promise((resolve) => child.once("exit", resolve));
}

/** As somebody to whom the operating system may say no; as ourselves, if we are that already. */
async function as(tree: WorkingTree | null, work: () => Promise<string>): Promise<string> {
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
