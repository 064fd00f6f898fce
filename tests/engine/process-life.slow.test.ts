import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { PackedPackage } from "../repo/packed-package.ts";
import { appRole } from "../store/postgres/global-setup.ts";
import { emptyTestDatabase } from "../store/postgres/test-database.ts";

const packed = new PackedPackage();
afterAll(() => packed.clear());
const database = emptyTestDatabase();
beforeAll(() => migrate(database.ownerUrl, { grant: appRole }));

let folders = 0;

/** A folder with a store, and programs that share it. `store` is the expression that opens it. */
class Programs {
  readonly #folder = join(packed.folder, `life-${folders++}`);
  readonly #head: string;

  constructor(kind: "sqlite" | "postgres") {
    mkdirSync(this.#folder);
    const address = kind === "sqlite" ? "writ.db" : database.url;
    this.#head = `
import { agent, createEngine, defineTool, person } from "writ";
import { ${kind} } from "writ/${kind}";
const schemas = { input: { type: "object" }, output: { type: "string" } };
const later = (ms) => new Promise((answer) => setTimeout(answer, ms, "done"));
const slow = defineTool({ name: "slow", effect: "reads", ...schemas, run: () => (console.log("started"), later(700)) });
const act = defineTool({ name: "act", effect: "acts", ...schemas, run: () => later(0) });
const principal = agent("bot", "${this.#folder.replaceAll(/\W/g, "-").slice(-40)}");
const chief = person("chief", principal.tenant);
const open = (more) => createEngine({ store: ${kind}("${address}"), tools: [slow, act], ...more });
const plan = (name) => ({ steps: [{ step_id: "a", name, payload: {} }] });
`;
  }

  /** Starts a program. It ends by itself, unless a test stops it. */
  start(body: string): RunningProgram {
    const name = `program-${folders++}.mjs`;
    writeFileSync(join(this.#folder, name), this.#head + body);
    return new RunningProgram(this.#folder, name);
  }
}

class RunningProgram {
  readonly #child;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown[]>;
  #stderr = "";

  constructor(cwd: string, name: string) {
    this.#child = spawn(process.execPath, [name], { cwd, stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 });
    this.#child.stderr.on("data", (text) => {
      this.#stderr += text;
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.#ended = once(this.#child, "exit");
  }

  async nextLine(): Promise<string | undefined> {
    return (await this.#lines.next()).value;
  }

  terminate(): void {
    this.#child.kill("SIGTERM");
  }

  async end(): Promise<{ readonly code: unknown; readonly stderr: string }> {
    const [code] = await this.#ended;
    return { code, stderr: this.#stderr };
  }
}

const byItself = { code: 0, stderr: "" };

describe.each(["sqlite", "postgres"] as const)("a process with an open engine, on %s", (kind) => {
  it("ends by itself if it has nothing to do", async () => {
    expect(await new Programs(kind).start("await open();").end()).toEqual(byItself);
  });

  it("executes what it has begun, also if no caller waits for it, and then ends by itself", async () => {
    const programs = new Programs(kind);
    const forgetful = programs.start(
      `const engine = await open(); console.log((await engine.submit(plan("slow"), { principal })).run_id);`,
    );
    const lines = [await forgetful.nextLine(), await forgetful.nextLine()];
    const runId = lines.find((line) => line !== "started");
    expect(await forgetful.end()).toEqual(byItself);
    const reader = programs.start(
      `const engine = await open({ work: false }); const run = await engine.run("${runId}", { principal });
       console.log((await run.now()).status);`,
    );
    expect(await reader.nextLine()).toBe("completed");
    expect(await reader.end()).toEqual(byItself);
  });

  it("leaves a run that waits at a gate on record, and ends by itself", async () => {
    const program = new Programs(kind).start(
      `const engine = await open(); const { step } = await engine.call(act, {}, { principal }); console.log(step.state);`,
    );
    expect(await program.nextLine()).toBe("waiting_approval");
    expect(await program.end()).toEqual(byItself);
  });

  it("stays alive while a caller waits for a run that another process decides", async () => {
    const programs = new Programs(kind);
    const waiting = programs.start(
      `const engine = await open(); const run = await engine.submit(plan("act"), { principal });
       console.log((await run.result()).gates[0].gate_id); console.log((await run.finished()).status);`,
    );
    const gate = await waiting.nextLine();
    const decider = programs.start(
      `const engine = await open({ work: false }); await engine.approve("${gate}", { principal: chief });`,
    );
    expect(await decider.end()).toEqual(byItself);
    expect(await waiting.nextLine()).toBe("completed");
    expect(await waiting.end()).toEqual(byItself);
  });

  it("stays alive while it waits for a session that another process holds", async () => {
    const programs = new Programs(kind);
    const holder = programs.start(
      `const engine = await open(); const run = await engine.openRun({ session: "chat", principal });
       console.log((await run.callTool({ id: "1", tool: "slow", input: {} })).status); await engine.close();`,
    );
    expect(await holder.nextLine()).toBe("started");
    const waiting = programs.start(
      `const engine = await open();
       const run = await engine.openRun({ session: "chat", principal, waitMs: 30_000 });
       console.log((await run.findCall("1")).status);`,
    );
    expect(await holder.nextLine()).toBe("succeeded");
    expect(await waiting.nextLine()).toBe("succeeded");
    expect(await holder.end()).toEqual(byItself);
    expect(await waiting.end()).toEqual(byItself);
  });

  it("stays alive while a caller waits for changes", async () => {
    const programs = new Programs(kind);
    const watching = programs.start(
      `const engine = await open(); console.log("watching");
       for await (const { status } of engine.changes({ principal: chief })) {
         console.log(status); break;
       }`,
    );
    expect(await watching.nextLine()).toBe("watching");
    const submitting = programs.start(
      `const engine = await open(); console.log((await (await engine.submit(plan("slow"), { principal })).result()).status);`,
    );
    expect(await submitting.nextLine()).toBe("started");
    expect(await watching.nextLine()).toBeDefined();
    expect(await watching.end()).toEqual(byItself);
    await submitting.end();
  });

  it("serves until its signal, and ends after the calls in flight", async () => {
    const programs = new Programs(kind);
    const server = programs.start(
      `const stop = new AbortController(); process.once("SIGTERM", () => stop.abort());
       const engine = await open(); console.log("serving");
       await engine.serve({ signal: stop.signal }); console.log("closed");`,
    );
    expect(await server.nextLine()).toBe("serving");
    const client = programs.start(
      `const engine = await open({ work: false }); const run = await engine.submit(plan("slow"), { principal });
       console.log(run.run_id); console.log((await run.finished()).status);`,
    );
    await client.nextLine();
    expect(await server.nextLine()).toBe("started");
    server.terminate();
    expect(await server.nextLine()).toBe("closed");
    expect(await server.end()).toEqual(byItself);
    expect(await client.nextLine()).toBe("completed");
    expect(await client.end()).toEqual(byItself);
  });
});
