import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, it, onTestFinished } from "vitest";
import { SmallDisk } from "../../../chaos/small-disk.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { FaultError } from "../../../src/core/values/fault.ts";
import type { RunId } from "../../../src/core/values/ids.ts";
import { LockFile } from "../../../src/store/sqlite/lock-file.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { connectSqlite } from "../../../src/store/sqlite/sqlite-driver.ts";
import { sqliteMigrations } from "../../../src/store/sqlite/sqlite-migrations.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { shareVersionLock, takeVersionLock } from "../../../src/store/sqlite/version-lock.ts";
import { assertLands, runA, tenantA, workerB } from "../../../src/testing/store-contract/contract-rule.ts";
import { setQueuedTimers } from "../../../src/testing/store-contract/timer-fixtures.ts";
import { builtModule, repositoryRoot } from "../../repo/repository-path.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-processes-"));
chmodSync(folder, 0o755);
let files = 0;
const newFile = (): string => join(folder, `${files++}.db`);

afterAll(() => rmSync(folder, { recursive: true }));

/** The start of every child program: the built package, the path of the file, and a function that makes an entry. */
const preamble = `
  import { sqlite } from ${JSON.stringify(builtModule("sqlite.js"))};
  const file = process.argv[1];
  const entry = (run, position, flush) => ({
    tenant: "acme", run, expect: { position: position - 1, epoch: null }, puts: [], charges: [], checks: [], flush,
    events: [{ position, type: "step.succeeded", v: 1, at: 1, body: "{}", hash: new Uint8Array(32) }],
  });
`;

function child(file: string, script: string, as: { uid?: number; gid?: number } = {}): ChildProcess {
  const args = ["--input-type=module", "--eval", preamble + script, file];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], cwd: repositoryRoot, ...as });
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
  const exited = once(process, "exit");
  process.kill("SIGKILL");
  await exited;
}

describe("worker of a SQLite file", () => {
  it("keeps its runs beside another worker until it is killed; then the other takes over within a second", async () => {
    const file = newFile();
    const worker = child(
      file,
      `const store = await sqlite(file);
       await store.append([entry("run-hire", 1, "hard")]);
       await store.registerWorker("ana");
       const claim = await store.claim("ana", "acme", "run-hire");
       await store.mark(claim, "send", 1);
       console.log("working");
       setInterval(() => store, 1000);`,
    );
    for await (const line of linesOf(worker)) if (line === "working") break;
    const store = openSqlite(file);
    await store.registerWorker(workerB);
    assert.equal(await store.claim(workerB, tenantA, runA), null);
    await kill(worker);
    let claim = await store.claim(workerB, tenantA, runA);
    for (let waits = 0; claim === null && waits < 40; waits += 1) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      claim = await store.claim(workerB, tenantA, runA);
    }
    assert.ok(claim !== null);
    assert.equal(claim.epoch, 3);
    assert.equal(await store.predecessor(claim), "ana");
    assert.equal(await store.marked(tenantA, runA, "send" as never, 1, store.boot), "yes");
    await store.close();
  });

  it("stays alive for the others when another program opens, reads and closes its lock file", async () => {
    const file = newFile();
    const worker = child(
      file,
      `const store = await sqlite(file);
       await store.append([entry("run-hire", 1, "hard")]);
       await store.registerWorker("ana");
       await store.claim("ana", "acme", "run-hire");
       console.log("working");
       setInterval(() => store, 1000);`,
    );
    for await (const line of linesOf(worker)) if (line === "working") break;
    readFileSync(join(`${file}-workers`, "ana.lock"));
    const store = openSqlite(file);
    // A registration looks at all other workers.
    await store.registerWorker(workerB);
    assert.equal(await store.claim(workerB, tenantA, runA), null);
    await kill(worker);
    await store.close();
  });
});

describe("64 worker processes of one file", () => {
  const PROCESSES = 64;
  const RUNS = 256;

  it("execute each run once, and leave no lock file behind", async () => {
    const file = newFile();
    const store = openSqlite(file);
    const runs = Array.from({ length: RUNS }, (_, at) => `run-${at}` as RunId);
    await setQueuedTimers(store, store.clock, Object.fromEntries(runs.map((run) => [run, {}])));
    const script = `
      const store = await sqlite(file);
      const worker = "worker-" + process.pid;
      await store.registerWorker(worker);
      for (const { run, epoch } of await store.claimDue(worker, ${RUNS})) {
        const puts = [{ table: "timer", key: run, was: "any", row: null }];
        const [landing] = await store.append([{ ...entry(run, 2, "soft"), expect: { position: 1, epoch }, puts }]);
        if (landing.landed) console.log(run);
      }
      await store.close();`;
    const answers = await Promise.all(Array.from({ length: PROCESSES }, () => allLinesOf(child(file, script))));
    assert.deepEqual(answers.flat().sort(), [...runs].sort());
    assert.deepEqual(readdirSync(`${file}-workers`), []);
    await store.close();
  });
});

describe("lock file of a worker", () => {
  it("stays locked while its own process looks at it: nothing but SQLite opens it", async () => {
    const file = newFile();
    const worker = child(
      file,
      `const store = await sqlite(file);
       await store.registerWorker("ana");
       setTimeout(() => console.log("looked"), 600); // A worker looks at its lock file every 250 ms.
       setInterval(() => store, 1000);`,
    );
    for await (const line of linesOf(worker)) if (line === "looked") break;
    const found = LockFile.take(join(`${file}-workers`, "ana.lock"));
    await kill(worker);
    assert.equal(found, "held");
  });
});

describe("file of an older version", () => {
  it("is not migrated while another process has it open, and is when that process has closed it", async () => {
    const file = newFile();
    const db = connectSqlite(file);
    for (const { number, name, sql } of sqliteMigrations.slice(0, -1)) {
      db.exec(sql);
      db.prepare("insert into migration (number, name) values (?, ?)").run(number, name);
    }
    db.close();
    const older = shareVersionLock(file);
    assert.throws(
      () => openSqlite(file),
      (error) => error instanceof FaultError && error.fault.code === "STORE_BUSY",
    );
    const version = connectSqlite(file).prepare("select max(number) as number from migration").get();
    assert.equal((version as { readonly number: number }).number, sqliteMigrations.length - 1);
    older?.free();
    await openSqlite(file).close();
  });

  it("is not opened while another process migrates it", () => {
    const file = newFile();
    openDatabase(file).db.close();
    const migration = takeVersionLock(file);
    assert.ok(migration !== null);
    assert.deepEqual([shareVersionLock(file), takeVersionLock(file)], [null, null]);
    migration.free();
    assert.ok(shareVersionLock(file) !== null);
  });
});

describe("killed process", () => {
  it("leaves no maintenance under way", async () => {
    const file = newFile();
    const keeper = child(
      file,
      `const store = await sqlite(file);
       await store.beginMaintenance();
       console.log("under way");
       setInterval(() => store, 1000);`,
    );
    for await (const line of linesOf(keeper)) if (line === "under way") break;
    const store = openSqlite(file);
    assert.equal(await store.beginMaintenance(), null);
    await kill(keeper);
    const end = await store.beginMaintenance();
    assert.ok(end !== null);
    assert.equal(await store.beginMaintenance(), null);
    end();
    assert.ok((await store.beginMaintenance()) !== null);
    await store.close();
  });

  it("leaves every acknowledged entry, hard or soft", async () => {
    const file = newFile();
    const writer = child(
      file,
      `const store = await sqlite(file);
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
    const store = openSqlite(file);
    const head = await store.head(tenantA, runA);
    assert.ok(head !== null && head.position >= acknowledged && acknowledged >= 500);
    assert.equal((await store.events(tenantA, runA, 0)).length, head.position);
    await store.close();
  });
});

describe("many processes", () => {
  it("open a new file at once and lose no entry", async () => {
    const file = newFile();
    const script = (name: string) =>
      `const store = await sqlite(file);
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
    const store = openSqlite(file);
    for (const name of names) assert.equal((await store.head(tenantA, name as RunId))?.position, 50);
    await store.close();
  });
});

describe("user without write permission", () => {
  const script = `
    try { await sqlite(file); console.log("opened"); }
    catch (error) { console.log(error.fault?.code, error.message.includes("permissions")); }`;
  // Permissions do not restrict root, so a root process starts the child with an unprivileged user id.
  const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

  it("gets STORE_READ_ONLY for a file", async () => {
    const file = newFile();
    const store = openSqlite(file);
    await assertLands(store, {});
    await store.close();
    chmodSync(file, 0o400);
    assert.deepEqual(await allLinesOf(child(file, script, nobody)), ["STORE_READ_ONLY true"]);
  });

  it("gets STORE_READ_ONLY for a directory", async () => {
    const closed = mkdtempSync(join(folder, "closed-"));
    chmodSync(closed, 0o555);
    assert.deepEqual(await allLinesOf(child(join(closed, "writ.db"), script, nobody)), ["STORE_READ_ONLY true"]);
  });
});

/** Appends until a fault, because the log of a full disk may have room for a few more entries. Returns its code. */
async function appendUntilFault(store: Store): Promise<string> {
  for (let at = 1; ; at += 1) {
    try {
      await assertLands(store, { at });
    } catch (error) {
      return error instanceof FaultError ? error.fault.code : String(error);
    }
  }
}

const noMount = "this user may not mount a disk, so nothing was tested";

describe("disk of a store", () => {
  const disk = mkdtempSync(join(folder, "disk-"));
  const small = SmallDisk.mount(disk, 4);
  afterAll(() => void spawnSync("umount", ["-l", disk]));

  it("may be full: the worker is told, writes nothing, and continues when there is space", async ({ skip }) => {
    if (small === null) return skip(noMount);
    const store = openSqlite(join(disk, "writ.db"));
    await assertLands(store, {});
    small.fill();
    assert.equal(await appendUntilFault(store), "STORE_FULL");
    const position = (await store.head(tenantA, runA))?.position ?? 0;
    small.free();
    await assertLands(store, { at: position });
    await store.registerWorker(workerB);
    await store.close();
  });

  it("may be read-only: the store is refused with STORE_READ_ONLY", ({ skip }) => {
    if (small === null) return skip(noMount);
    // This process still has the file of the other test open, so its disk cannot become read-only.
    const other = mkdtempSync(join(folder, "disk-"));
    SmallDisk.mount(other, 4);
    onTestFinished(() => void spawnSync("umount", ["-l", other]));
    assert.equal(spawnSync("cp", [join(disk, "writ.db"), other]).status, 0);
    assert.equal(spawnSync("mount", ["-o", "remount,ro", other]).status, 0);
    assert.throws(
      () => openSqlite(join(other, "writ.db")),
      (error) => error instanceof FaultError && error.fault.code === "STORE_READ_ONLY",
    );
  });
});
