import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Claim } from "../../../src/core/store/store.ts";
import type { WorkerId } from "../../../src/core/values/ids.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { builtModule } from "../../repo/repository-path.ts";
import { testDatabase } from "../../store/postgres/test-database.ts";
import { botAgent } from "../engine-fixture.ts";
import { neverAnswers, scriptedTool } from "../scripted-tool.ts";

const made = testDatabase();

/** A worker whose first tool blocks the whole thread until a file is there; its second says that it was called. */
const program = `
import { existsSync, writeFileSync } from "node:fs";
import { createEngine, defineTool } from "${builtModule("index.js")}";
import { postgres } from "${builtModule("postgres.js")}";
const { url, folder, leaseMs, spinMs } = JSON.parse(process.argv[2]);
const tool = (name, run) => defineTool({ name, effect: "reads", input: { type: "object" }, output: {}, timeoutMs: 600000, run });
const spin = tool("spin", async () => {
  writeFileSync(folder + "/begun", "");
  while (!existsSync(folder + "/block")) await new Promise((resolve) => setTimeout(resolve, 10));
  writeFileSync(folder + "/blocked", "");
  const begun = process.hrtime.bigint();
  while (!existsSync(folder + "/go") && Number(process.hrtime.bigint() - begun) / 1e6 < spinMs);
  writeFileSync(folder + (existsSync(folder + "/go") ? "/went" : "/gave-up"), "");
  return {};
});
const next = tool("next", async () => (writeFileSync(folder + "/called", ""), {}));
const engine = await createEngine({ store: postgres(url, { leaseMs }), tools: [spin, next] });
await engine.serve();
`;

interface Spinner {
  /** Whether it left this word behind. */
  said(word: string): boolean;
  tell(word: "block" | "go"): void;
}

/** Starts it on a run of both steps, and answers once it has begun with the first. */
async function worker(leaseMs: number, spinMs: number, blocks?: "at once"): Promise<Spinner> {
  await made.empty();
  const folder = mkdtempSync(join(tmpdir(), "writ-stall-"));
  writeFileSync(join(folder, "worker.mjs"), program);
  const store = await postgres(made.url);
  const tools = [
    scriptedTool("spin", neverAnswers, { effect: "reads" }).tool,
    scriptedTool("next", neverAnswers, { effect: "reads" }).tool,
  ];
  const orders = await createEngine({ store, tools, work: false });
  const steps = [
    { step_id: "a", name: "spin" },
    { step_id: "b", name: "next" },
  ];
  await orders.submit({ steps }, { principal: botAgent });
  await orders.close();
  const tell = (word: string) => writeFileSync(join(folder, word), "");
  if (blocks === "at once") tell("block");
  const task = JSON.stringify({ url: made.url, folder, leaseMs, spinMs });
  const child = spawn(process.execPath, [join(folder, "worker.mjs"), task], { stdio: "inherit" });
  onTestFinished(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  });
  const said = (word: string) => existsSync(join(folder, word));
  await until(async () => said("begun"));
  return { said, tell };
}

async function until(happened: () => Promise<boolean>): Promise<void> {
  while (!(await happened())) await new Promise((resolve) => setImmediate(resolve));
}

const leasedUntil = async () => Number((await made.query<readonly [string]>("select until from writ.lease"))[0]?.[0]);

describe("worker on Postgres with a blocked event loop", () => {
  it("has its lease renewed for up to half of its length", async () => {
    const leaseMs = 15_000;
    const spinner = await worker(leaseMs, leaseMs / 2);
    const claimed = await leasedUntil();
    await until(async () => (await leasedUntil()) > claimed);
    spinner.tell("block");
    await until(async () => spinner.said("blocked"));
    const before = await leasedUntil();
    await until(async () => (await leasedUntil()) > before || spinner.said("gave-up"));
    spinner.tell("go");
    await until(async () => spinner.said("went") || spinner.said("gave-up"));
    expect(spinner.said("gave-up")).toBe(false);
    await until(async () => (await made.query("select 1 from writ.event where type = 'run.ended'")).length > 0);
    expect(await made.query("select epoch from writ.head")).toEqual([["1"]]);
  });

  it("loses the run when it is blocked for longer, and then calls no tool for it", async () => {
    const spinner = await worker(1000, 60_000, "at once");
    const store = await postgres(made.url, { leaseMs: 600_000 });
    onTestFinished(() => store.close());
    let claims: readonly Claim[] = [];
    await until(async () => {
      claims = await store.claimDue("other" as WorkerId, 1);
      return claims.length > 0;
    });
    const { tenant, run } = claims[0] as Claim;
    spinner.tell("go");
    await until(async () => spinner.said("went"));
    // Another run that it takes up and ends shows that it has gone on by now, with all that was waiting.
    const orders = await createEngine({
      store,
      tools: [scriptedTool("spin", neverAnswers, { effect: "reads" }).tool],
      work: false,
    });
    const after = await orders.submit({ steps: [{ step_id: "a", name: "spin" }] }, { principal: botAgent });
    await after.finished();
    expect(spinner.said("called")).toBe(false);
    expect((await store.events(tenant, run, 0)).map(({ type }) => type)).toEqual(["run.accepted"]);
  });
});
