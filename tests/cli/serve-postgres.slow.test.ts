import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { client, type WritClient } from "../../src/client/client.ts";
import { testDatabase } from "../store/postgres/test-database.ts";
import { type CliProcess, CliProject } from "./cli-project.ts";

const listening = /serving (http:\S+);/;

interface Served {
  readonly process: CliProcess;
  as(token: string): WritClient;
}

describe("writ serve --store postgres://…", () => {
  const database = testDatabase();
  let site: CliProject;
  beforeEach(() => {
    site = new CliProject();
  });
  afterEach(() => site.clear());

  const keyOf = async (...given: readonly string[]) =>
    String((await site.json("keys", "add", ...given, "--scope", "read", "--keys", "keys.json")).answer.key);
  const serve = async (...more: readonly string[]): Promise<Served> => {
    const process = site.start("serve", "--port", "0", "--store", database.url, "--keys", "keys.json", ...more);
    const [, url = ""] = await process.until(listening);
    return { process, as: (token) => client({ url, token }) };
  };
  const plan = () => JSON.parse(readFileSync(join(site.folder, "plan.json"), "utf8"));

  it("serves runs, decisions, streams and sessions by two servers on one database, and acts once", async () => {
    const agent = await keyOf("bot", "--scope", "submit");
    const person = await keyOf("bea", "--kind", "person", "--scope", "decide", "--scope", "admin");
    const [left, right] = await Promise.all([serve(), serve()]);
    const run = await left.as(agent).submit(plan(), { requestKey: "welcome" });
    const { gates } = await (await right.as(agent).run(run.run_id)).result();
    const events: string[] = [];
    const streamed = (async () => {
      for await (const { event } of (await left.as(person).run(run.run_id)).events({ follow: true }))
        events.push(event.type);
    })();
    await right.as(person).approve(gates[0]?.gate_id ?? "", {});
    expect((await run.finished()).status).toBe("completed");
    await streamed;
    expect(events.at(-1)).toBe("run.ended");
    expect(await right.as(agent).submit(plan(), { requestKey: "welcome" })).toMatchObject({ run_id: run.run_id });
    expect(site.effects()).toEqual(["mail to ana@example.org"]);

    const call = { id: "1", tool: "mail.write", input: { to: "ana@example.org" } };
    const session = await left.as(agent).openRun({ session: "chat" });
    expect(await session.callTool(call)).toMatchObject({ status: "succeeded" });
    const moved = await right.as(agent).openRun({ session: "chat", waitMs: 10_000 });
    expect(moved).toMatchObject({ run_id: session.run_id, attached: true });
    expect(await moved.callTool(call)).toMatchObject({ status: "succeeded" });
    expect(await left.as(person).audit()).toMatchObject({ broken: [], rows: [] });
    for (const { process } of [left, right]) {
      process.kill("SIGTERM");
      expect((await process.ended).exit).toBe(0);
    }
  });

  it("continues the runs of a killed server by the other, and repeats nothing", async () => {
    const agent = await keyOf("bot", "--scope", "submit");
    const person = await keyOf("bea", "--kind", "person", "--scope", "decide");
    const [left, right] = await Promise.all([serve(), serve()]);
    const run = await left.as(agent).submit(plan(), { requestKey: "again" });
    const { gates } = await run.result();
    left.process.kill("SIGKILL");
    await left.process.ended;
    await right.as(person).approve(gates[0]?.gate_id ?? "", {});
    const same = await right.as(agent).submit(plan(), { requestKey: "again" });
    expect(same).toMatchObject({ run_id: run.run_id, attached: true });
    expect((await same.finished()).status).toBe("completed");
    expect(site.effects()).toEqual(["mail to ana@example.org"]);
    right.process.kill("SIGTERM");
    expect((await right.process.ended).exit).toBe(0);
  });

  it("says what to do if the database has no tables, and prints no password", async () => {
    const url = database.ownerUrl.replace(/\/[^/]+$/, "/postgres");
    const { exit, err, out } = await site.run("serve", "--port", "0", "--store", url);
    expect(exit).toBe(6);
    expect(err + out).toMatch(/writ migrate/);
    expect(err + out).not.toContain(new URL(url).password);
  });
});
