import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectSqlite } from "../../src/store/sqlite/sqlite-driver.ts";
import { newProjectFolder } from "./project-folder.ts";
import { commandNames, runCli } from "./run-cli.ts";

let cwd: string;

beforeEach(() => {
  cwd = newProjectFolder();
});

afterEach(() => rmSync(cwd, { recursive: true }));

/** The commands that may create a file, or that use no store. */
const others = [
  "run",
  "worker",
  "schedule",
  "restore",
  "init",
  "demo",
  "crashtest",
  "policy",
  "mcp",
  "serve",
  "keys",
  "open",
];

const args: Readonly<Record<string, readonly string[]>> = {
  approve: ["gate_1"],
  backup: ["copy.db"],
  reject: ["gate_1"],
  cancel: ["run_1"],
  check: ["plan.json"],
  checkpoint: ["list", "run_1"],
  events: ["run_1"],
  explain: ["run_1", "send"],
  export: ["run_1", "--otlp"],
  halt: ["--reason", "x"],
  lift: ["run_1"],
  project: ["history", "p"],
  resolve: ["run_1", "send", "--absent"],
  resume: ["run_1"],
  forget: ["chat"],
  retain: ["--older-than", "1d"],
  show: ["run_1"],
  signal: ["key"],
  simulate: ["plan.json"],
  state: ["p"],
  undo: ["run_1"],
  verify: ["run_1"],
};

const looking = (await commandNames()).filter((name) => !others.includes(name));

const notStores: Readonly<Record<string, (path: string) => void>> = {
  "an empty file": (path) => writeFileSync(path, "", { mode: 0o644 }),
  "a link to an empty file": (path) => {
    writeFileSync(`${path}-target`, "", { mode: 0o644 });
    symlinkSync(`${path}-target`, path);
  },
  "a link to no file": (path) => symlinkSync(`${path}-target`, path),
  "a directory": (path) => mkdirSync(path),
  "a pipe": (path) => void spawnSync("mkfifo", ["-m", "644", path]),
  "a link to a file of the kernel": (path) => symlinkSync("/proc/self/limits", path),
  "a text": (path) => writeFileSync(path, "Dear diary, ".repeat(100), { mode: 0o644 }),
  "a database of another program": (path) => {
    const db = connectSqlite(path);
    db.exec("create table migration (id)");
    db.close();
    chmodSync(path, 0o644);
  },
};

/** Returns the kind, the mode and the content of every file in the folder. */
function listing(): unknown {
  return readdirSync(cwd).map((name) => {
    const path = join(cwd, name);
    const found = lstatSync(path);
    return [name, found.mode, found.isFile() ? readFileSync(path, "base64") : null];
  });
}

describe("a path that is no store", () => {
  it.each(Object.keys(notStores))("%s: is refused and not changed by any command that begins no run", async (kind) => {
    notStores[kind]?.(join(cwd, "x.db"));
    const before = listing();
    for (const name of looking.filter((name) => name !== "tools")) {
      const { out } = await runCli(cwd, name, ...(args[name] ?? []), "--store", "x.db", "--json");
      // A link to no file is as good as no file.
      if (existsSync(join(cwd, "x.db"))) expect([name, JSON.parse(out).fault?.code]).toEqual([name, "STORE_UNUSABLE"]);
      expect([name, listing()]).toEqual([name, before]);
    }
  });

  it.each(Object.keys(notStores).filter((kind) => kind !== "an empty file"))(
    "%s: is not made a store by a run",
    async (kind) => {
      notStores[kind]?.(join(cwd, "x.db"));
      const before = listing();
      const { exit, out } = await runCli(cwd, "run", "plan.json", "--store", "x.db", "--json");
      expect([exit, JSON.parse(out).fault?.code]).toEqual([6, "STORE_UNUSABLE"]);
      expect(listing()).toEqual(before);
    },
  );

  it("is created by a run if it is missing", async () => {
    const before = listing();
    for (const name of looking) await runCli(cwd, name, ...(args[name] ?? []), "--store", "x.db");
    expect(listing()).toEqual(before);
    expect((await runCli(cwd, "run", "plan.json", "--store", "x.db")).exit).toBe(3);
    expect(existsSync(join(cwd, "x.db"))).toBe(true);
  });

  it.each(["mysql://db/x", "postgress://db/x"])("%s: is refused and named", async (url) => {
    const before = listing();
    for (const name of ["runs", "run"]) {
      const { exit, err } = await runCli(cwd, name, ...(name === "run" ? ["plan.json"] : []), "--store", url);
      expect([exit, err]).toEqual([2, expect.stringContaining(`${url.split("/")[0]}// URL`)]);
    }
    expect(listing()).toEqual(before);
  });
});

describe("a store of an older version", () => {
  it("is refused by a command that begins no run, and not changed", async () => {
    await runCli(cwd, "run", "plan.json");
    const db = connectSqlite(join(cwd, "writ.db"));
    db.exec("delete from migration where number = (select max(number) from migration)");
    db.exec("pragma wal_checkpoint(truncate)");
    db.close();
    cpSync(join(cwd, "writ.db"), join(cwd, "old.db"));
    const { exit, out } = await runCli(cwd, "runs", "--store", "old.db", "--json");
    expect([exit, JSON.parse(out).fault.code]).toEqual([6, "STORE_OLDER"]);
    expect(readFileSync(join(cwd, "old.db")).equals(readFileSync(join(cwd, "writ.db")))).toBe(true);
  });

  it("needs no roles", async () => {
    await runCli(cwd, "run", "plan.json");
    expect(JSON.parse((await runCli(cwd, "migrate", "--store", "writ.db", "--json")).out)).toMatchObject({
      applied: [],
    });
    expect((await runCli(cwd, "migrate", "--store", "writ.db", "--grant", "app")).exit).toBe(2);
  });
});
