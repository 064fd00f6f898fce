import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { Capture } from "../../src/core/resource.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { portrait } from "../fidelity/portrait.ts";
import { refusal, type WorkingTree, workingTree } from "../working-tree.ts";

const door = fileURLToPath(new URL("../../dist/files.js", import.meta.url));
const left: (() => void)[] = [];

afterEach(() => {
  for (const clear of left.splice(0)) clear();
});

function someTree(): WorkingTree {
  const made = workingTree({ "a.txt": "aaa", "keep/me": "kept" });
  left.push(() => made.clear());
  for (let count = 0; count < 200; count += 1) {
    mkdirSync(made.path(`d${count % 10}`), { recursive: true });
    writeFileSync(made.path(`d${count % 10}/${count}`), `content ${count}`.repeat(count), {
      mode: 0o600 + (count % 64),
    });
  }
  symlinkSync("a.txt", made.path("link"));
  linkSync(made.path("keep/me"), made.path("d0/second"));
  chmodSync(made.path("d1"), 0o2750);
  return made;
}

/** Starts a process that does nothing but calls that fail, and says which capture it is at before anything is changed. */
function worker(made: WorkingTree, tool: string, access: string): ChildProcess {
  const program = `
    import { HostFilesystem } from ${JSON.stringify(door)};
    import * as fs from "node:fs";
    const [root, store] = ${JSON.stringify([made.root, made.store])};
    const resource = new HostFilesystem({ root, store });
    for (;;) {
      const capture = await resource.capture("call", ${JSON.stringify(access)});
      fs.writeFileSync(${JSON.stringify(join(made.outside, "capture.tmp"))}, JSON.stringify(capture));
      fs.renameSync(${JSON.stringify(join(made.outside, "capture.tmp"))}, ${JSON.stringify(join(made.outside, "capture"))});
      process.stdout.write(".");
      const files = await resource.open(capture);
      ${tool}
      await resource.restore(capture);
      await resource.release(capture);
    }`;
  return spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
}

const through = `
  for (let n = 0; n < 200; n += 7) await files.write("d" + (n % 10) + "/" + n, "changed " + n);
  await files.delete("d3", { recursive: true });
  await files.write("d3", "a file now");
  await files.write("new/deep/er", "new");
  await files.delete("link");`;

const past = `
  for (let n = 0; n < 200; n += 7) fs.writeFileSync(root + "/d" + (n % 10) + "/" + n, "changed " + n);
  fs.rmSync(root + "/d3", { recursive: true });
  fs.writeFileSync(root + "/d3", "a file now");
  fs.chmodSync(root + "/d1", 0o755);
  fs.mkdirSync(root + "/new/deep", { recursive: true });
  fs.unlinkSync(root + "/link");
  fs.unlinkSync(root + "/keep/me");`;

describe.each([
  ["handle", through],
  ["raw", past],
])("a process that is killed while it works on a tree, %s", (access, tool) => {
  it("leaves it so that the next one puts it back, wherever it was", { timeout: 300_000 }, async () => {
    const made = someTree();
    const before = portrait(made.root);
    for (let kill = 0; kill < 12; kill += 1) {
      const child = worker(made, tool, access);
      await once(child.stdout as NodeJS.ReadableStream, "data");
      // Not a wait for something to happen: whatever has happened by then is what it is killed at.
      await new Promise((resolve) => setTimeout(resolve, (kill * 37) % 300));
      child.kill("SIGKILL");
      await once(child, "exit");
      const capture = JSON.parse(readFileSync(join(made.outside, "capture"), "utf8")) as Capture;
      const next = new HostFilesystem({ ...made });
      const told = await refusal(next.restore(capture));
      // It had been undone and released, and the next call had changed nothing yet.
      if (told !== "CAPTURE_NOT_FOUND") expect(told, `kill ${kill}`).toMatchObject({ answered: expect.anything() });
      expect(portrait(made.root), `kill ${kill}`).toEqual(before);
      await next.release(capture);
      await next.dispose();
    }
  });
});

describe("a tree that another process works on", () => {
  it("is refused while that one lives, and not longer", { timeout: 60_000 }, async () => {
    const made = someTree();
    const child = worker(made, "await new Promise((resolve) => setTimeout(resolve, 600_000));", "handle");
    await once(child.stdout as NodeJS.ReadableStream, "data");
    const ours = new HostFilesystem({ ...made });
    expect(await refusal(ours.capture("ours", "handle"))).toBe("RESOURCE_BUSY");
    child.kill("SIGKILL");
    await once(child, "exit");
    await ours.close(await ours.capture("ours", "handle"));
    await ours.dispose();
  });
});

describe("a directory that somebody swaps for a link all the time", () => {
  it("never leads a tool out of its tree", { timeout: 120_000 }, async () => {
    const made = someTree();
    mkdirSync(join(made.outside, "d"));
    writeFileSync(join(made.outside, "d/0"), "outside");
    symlinkSync(join(made.outside, "d"), made.path("swap"));
    // Whoever writes may make the directory that is just missing; it goes again.
    const program = `const fs = require("fs"); process.chdir(${JSON.stringify(made.root)}); process.stdout.write(".");
      const tried = (work) => { try { work(); return true; } catch { return false; } };
      const move = (from, to) => {
        while (!tried(() => fs.renameSync(from, to))) tried(() => fs.rmSync(to, { recursive: true, force: true }));
      };
      for (;;) { move("d0", "held"); move("swap", "d0"); move("d0", "swap"); move("held", "d0"); }`;
    const meddler = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    await once(meddler.stdout as NodeJS.ReadableStream, "data");
    const resource = new HostFilesystem({ ...made });
    const files = await resource.open(await resource.capture("call", "handle"));
    let [inside, refused] = [0, 0];
    for (let tries = 0; tries < 3000; tries += 1) {
      const text = await files.readText("d0/0").catch(() => null);
      if (text === null) refused += 1;
      else inside += 1;
      expect(text).not.toBe("outside");
      await files.write(`d0/new-${tries}`, "escaped?").catch(() => null);
      await files.append("d0/0", "").catch(() => null);
    }
    expect(meddler.exitCode).toBeNull();
    meddler.kill("SIGKILL");
    await once(meddler, "exit");
    expect(readFileSync(join(made.outside, "d/0"), "utf8")).toBe("outside");
    expect(portrait(join(made.outside, "d"))).toHaveLength(2);
    expect(inside + refused).toBe(3000);
    await resource.dispose();
  });
});
