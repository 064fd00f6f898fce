import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createEngine } from "../../../src/engine/engine.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { anaPerson, botAgent } from "../../engine/engine-fixture.ts";
import { scriptedTool } from "../../engine/scripted-tool.ts";
import { builtModule, repositoryRoot } from "../../repo/repository-path.ts";
import { addLongRun, listStoredEvents, makeOlderFile } from "./older-file.ts";

/** Opens the file, and kills the process before the given command to SQLite: each begin and each commit is one. */
const program = `
  import { createRequire } from "node:module";
  import { sqlite } from ${JSON.stringify(builtModule("sqlite.js"))};
  const require = createRequire(import.meta.url);
  const driver = require("@photostructure/sqlite");
  let left = Number(process.argv[2]);
  class DatabaseSync extends driver.DatabaseSync {
    exec(sql) {
      if (/^(begin|commit)/.test(sql)) left -= 1;
      if (left < 0) process.kill(process.pid, "SIGKILL");
      return super.exec(sql);
    }
  }
  require.cache[require.resolve("@photostructure/sqlite")].exports = { ...driver, DatabaseSync };
  process.getBuiltinModule = () => undefined;
  await (await sqlite(process.argv[1])).close();
`;

function migrateUntil(file: string, commands: number): "killed" | "migrated" {
  const args = ["--input-type=module", "--eval", program, file, String(commands)];
  const { signal, status, stderr } = spawnSync(process.execPath, args, { cwd: repositoryRoot, encoding: "utf8" });
  if (signal === "SIGKILL") return "killed";
  expect([status, stderr]).toEqual([0, ""]);
  return "migrated";
}

it("a migration that is killed before any command continues, and loses and repeats no event", async () => {
  const folder = mkdtempSync(join(tmpdir(), "writ-event-log-kills-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const send = scriptedTool("send", () => ({ id: 1 }));
  const before = await createEngine({ store: openSqlite(join(folder, "new.db")), tools: [send.tool] });
  const run = await before.submit({ steps: [{ step_id: "a", name: "send" }] }, { principal: botAgent });
  const [gate] = (await run.result()).gates;
  await before.close();
  const older = join(folder, "older.db");
  makeOlderFile(older, join(folder, "new.db"), 7);
  for (const name of ["run_a", "run_b"]) addLongRun(older, name, 2500);
  const events = listStoredEvents(older);

  // One file is killed at every command in turn, and continues; of each kill a fresh file continues in one go.
  const file = join(folder, "killed.db");
  copyFileSync(older, file);
  let kills = 0;
  for (let commands = 0, end = "killed"; end === "killed"; commands += 1) {
    const fresh = join(folder, `${commands}.db`);
    copyFileSync(older, fresh);
    end = migrateUntil(fresh, commands);
    expect(listStoredEvents(fresh)).toEqual(events);
    expect(migrateUntil(fresh, 1000)).toBe("migrated");
    expect(listStoredEvents(fresh)).toEqual(events);
    if (migrateUntil(file, 2) === "killed") kills += 1;
    expect(listStoredEvents(file)).toEqual(events);
  }
  expect(kills).toBeGreaterThan(4);

  const after = await createEngine({ store: openSqlite(file), tools: [send.tool] });
  onTestFinished(() => after.close());
  await after.approve(gate?.gate_id ?? "", { principal: anaPerson });
  expect((await (await after.run(run.run_id, { principal: botAgent })).result()).status).toBe("completed");
  expect(send.calls).toHaveLength(1);
  expect((await after.audit({ principal: anaPerson })).broken).toEqual([]);
});
