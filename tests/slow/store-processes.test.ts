import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { afterAll, describe, it } from "vitest";
import { FaultError } from "../../src/core/fault.ts";
import type { RunId } from "../../src/core/id.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { acme, bob, claimed, hire, landed } from "../../src/testing/store-contract/law.ts";

const root = join(import.meta.dirname, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "writ-processes-"));
chmodSync(folder, 0o755);
let files = 0;
const newFile = (): string => join(folder, `${files++}.db`);

afterAll(() => rmSync(folder, { recursive: true }));

/** What every child begins with: the built package, the file's path, and an entry with one event. */
const preamble = `
  import { sqlite } from ${JSON.stringify(pathToFileURL(join(root, "dist", "sqlite.js")).href)};
  const file = process.argv[1];
  const entry = (run, position, flush) => ({
    tenant: "acme", run, expect: { position: position - 1, epoch: null }, puts: [], charges: [], checks: [], flush,
    events: [{ position, type: "step.succeeded", v: 1, at: 1, body: "{}", hash: new Uint8Array(32) }],
  });
`;

function child(file: string, script: string, as: { uid?: number; gid?: number } = {}): ChildProcess {
  const args = ["--input-type=module", "--eval", preamble + script, file];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], cwd: root, ...as });
}

async function* linesOf({ stdout }: ChildProcess): AsyncGenerator<string> {
  assert.ok(stdout !== null);
  yield* createInterface({ input: stdout });
}

async function allLinesOf(process: ChildProcess): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(process)) lines.push(line);
  return lines;
}

async function kill(process: ChildProcess): Promise<void> {
  const gone = once(process, "exit");
  process.kill("SIGKILL");
  await gone;
}

describe("the worker of a file", () => {
  it("is one process, until it is killed; then another takes over at once", async () => {
    const file = newFile();
    const worker = child(
      file,
      `const store = sqlite(file);
       await store.append([entry("run-hire", 1, "hard")]);
       await store.lockWorker();
       const claim = await store.claim("ana", "acme", "run-hire");
       await store.mark(claim, "send", 1);
       console.log("working");
       setInterval(() => store, 1000);`,
    );
    for await (const line of linesOf(worker)) if (line === "working") break;
    const store = sqlite(file);
    await assert.rejects(store.lockWorker(), isBusy);
    assert.equal(await store.claim(bob, acme, hire), null);
    await kill(worker);
    await store.lockWorker();
    const claim = await claimed(store, bob);
    assert.equal(claim.epoch, 2);
    assert.equal(await store.marked(acme, hire, "send" as never, 1, store.boot), "yes");
    await store.close();
  });
});

describe("a process that is killed", () => {
  it("leaves every entry that was acknowledged, hard or soft", async () => {
    const file = newFile();
    const writer = child(
      file,
      `const store = sqlite(file);
       for (let position = 1; ; position++) {
         await store.append([entry("run-hire", position, position % 5 === 0 ? "hard" : "soft")]);
         process.stdout.write(position + "\\n");
       }`,
    );
    let acknowledged = 0;
    for await (const line of linesOf(writer)) {
      acknowledged = Number(line);
      if (acknowledged === 500) await kill(writer);
    }
    const store = sqlite(file);
    const head = await store.head(acme, hire);
    assert.ok(head !== null && head.position >= acknowledged && acknowledged >= 500);
    assert.equal((await store.events(acme, hire, 0)).length, head.position);
    await store.close();
  });
});

describe("many processes", () => {
  it("open a new file at once and lose nothing of each other", async () => {
    const file = newFile();
    const script = (name: string) =>
      `const store = sqlite(file);
       for (let position = 1; position <= 50; position++) {
         const [landing] = await store.append([entry(${JSON.stringify(name)}, position, "soft")]);
         if (!landing.landed) throw new Error(JSON.stringify(landing));
       }
       await store.close();
       console.log("done");`;
    const names = ["run-1", "run-2", "run-3", "run-4", "run-5", "run-6"];
    const answers = await Promise.all(names.map((name) => allLinesOf(child(file, script(name)))));
    assert.deepEqual(
      answers.flat(),
      names.map(() => "done"),
    );
    const store = sqlite(file);
    for (const name of names) assert.equal((await store.head(acme, name as RunId))?.position, 50);
    await store.close();
  });
});

describe("a user without the right to write", () => {
  const script = `
    try { sqlite(file); console.log("opened"); }
    catch (error) { console.log(error.fault?.code, error.message.includes("permissions")); }`;
  // Permissions do not bind root, so that root asks as nobody.
  const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

  it("is told that the store is read-only", async () => {
    const file = newFile();
    const store = sqlite(file);
    await landed(store, {});
    await store.close();
    chmodSync(file, 0o400);
    assert.deepEqual(await allLinesOf(child(file, script, nobody)), ["STORE_READ_ONLY true"]);
  });

  it("is told so of a directory, too", async () => {
    const closed = mkdtempSync(join(folder, "closed-"));
    chmodSync(closed, 0o555);
    assert.deepEqual(await allLinesOf(child(join(closed, "writ.db"), script, nobody)), ["STORE_READ_ONLY true"]);
  });
});

function isBusy(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code === "STORE_BUSY" && /stop that process/.test(error.message);
}
