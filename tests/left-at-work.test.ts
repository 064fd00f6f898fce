import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Capture } from "../src/core/resource.ts";
import { Resources } from "../src/engine/desk/resources.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { portrait } from "./fidelity/portrait.ts";
import { quickPlace, refusal, type WorkingTree, workingTree } from "./working-tree.ts";

function tree(): WorkingTree {
  const made = workingTree({ "a.txt": "aaa" }, quickPlace);
  onTestFinished(() => made.clear());
  return made;
}

function over(made: WorkingTree): HostFilesystem {
  const files = new HostFilesystem({ ...made });
  onTestFinished(() => files.dispose());
  return files;
}

/** Works in the tree until it is told to end. */
async function writer(made: WorkingTree, detached: boolean): Promise<ChildProcess> {
  const child = spawn("sh", ["-c", "echo begun; read word"], {
    cwd: made.root,
    detached,
    stdio: ["pipe", "pipe", "ignore"],
  });
  onTestFinished(() => void child.stdin?.end());
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.stdin?.end();
  await exit;
}

/** A call that changes a file and leaves somebody at work. */
async function begun(made: WorkingTree, files: HostFilesystem, detached = false) {
  const before = portrait(made.root);
  const capture = await files.capture("call", "raw");
  await files.open(capture);
  const child = await writer(made, detached);
  writeFileSync(made.path("a.txt"), "changed");
  return { before, capture, child };
}

describe("a tree that a tool has left somebody at work in", () => {
  it.each([
    ["in its group", false],
    ["in a group of its own", true],
  ])("is not put back under its hands, but when it has ended: %s", async (_, detached) => {
    const made = tree();
    const files = over(made);
    const { before, capture, child } = await begun(made, files, detached);
    expect(await refusal(files.close(capture))).toBe("RESOURCE_RESTLESS");
    expect(await refusal(files.restore(capture))).toBe("RESOURCE_RESTLESS");
    expect(readFileSync(made.path("a.txt"), "utf8")).toBe("changed");
    await ended(child);
    await files.restore(capture);
    expect(portrait(made.root)).toEqual(before);
  });

  it("is not put back by another process either, and whoever comes next waits for that", async () => {
    const made = tree();
    const dead = over(made);
    const { before, child } = await begun(made, dead);
    await dead.dispose();
    const resources = new Resources({ files: over(made) }, async () => "falls");
    const tool = { resources: { files: "handle" } } as const;
    await expect(resources.borrow(tool, "next")).rejects.toThrow(/^RESOURCE_BUSY: .*RESOURCE_RESTLESS/);
    await ended(child);
    const borrowed = await resources.borrow(tool, "next");
    expect(portrait(made.root)).toEqual(before);
    await borrowed.giveBack();
  });

  it("is kept and put back though another worker has begun meanwhile, which has it open, too", async () => {
    const made = tree();
    const files = over(made);
    for (const ending of ["close", "restore"] as const) {
      const before = portrait(made.root);
      const capture = await files.capture("call", "raw");
      await files.open(capture);
      const opening = `exec 3< '${made.root}' 4< '${made.store}/captures'; echo begun; read word`;
      const worker = spawn("sh", ["-c", opening], { cwd: made.root, stdio: ["pipe", "pipe", "ignore"] });
      onTestFinished(() => void worker.stdin.end());
      await once(worker.stdout, "data");
      await files[ending](capture);
      expect(portrait(made.root)).toEqual(before);
      await files.release(capture);
    }
  });

  it("is put back though a person has come to look", async () => {
    const made = tree();
    const dead = over(made);
    const { before, capture, child } = await begun(made, dead);
    await dead.dispose();
    await ended(child);
    // It says who it is when it is in a group of its own.
    const looking = "setsid sh -c 'echo $$; exec sleep 600 >/dev/null 2>&1' &";
    const person = Number(execFileSync("sh", ["-c", looking], { cwd: made.root, encoding: "utf8" }));
    onTestFinished(() => void process.kill(person, "SIGKILL"));
    await over(made).restore(capture as Capture);
    expect(portrait(made.root)).toEqual(before);
  });
});
