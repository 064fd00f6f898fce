import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtModule, repositoryPath } from "../repo/repository-path.ts";

/** The library under test, as a string that a config can import. */
export const libraryImport = JSON.stringify(builtModule("index.js"));

/** The time after which a process is taken to hang. */
const stuckProcessMs = 120_000;

export interface CliExit {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

/** A directory with a config and a plan, in which tests run the built program. */
export class CliProject {
  readonly folder = mkdtempSync(join(tmpdir(), "writ-cli-"));
  readonly #started: CliProcess[] = [];

  constructor() {
    this.write("writ.config.mjs", configText);
    this.plan("plan.json", "ana@example.org");
  }

  write(name: string, text: string | Uint8Array): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Writes a plan that sends a mail. Sending to hang@example.org never ends, to slow@example.org when a file `go` exists. */
  plan(name: string, to: string): void {
    const steps = [
      { step_id: "write", name: "mail.write", payload: { to } },
      { step_id: "send", name: "mail.send", payload: { to }, bindings: { "/body": { step: "write", path: "/body" } } },
    ];
    this.write(name, JSON.stringify({ plan_id: "welcome", steps }));
  }

  /** Returns the effects in the outside world, one line each. */
  effects(): readonly string[] {
    const witness = join(this.folder, "witness.txt");
    return existsSync(witness) ? readFileSync(witness, "utf8").trimEnd().split("\n") : [];
  }

  start(...args: readonly string[]): CliProcess {
    const running = new CliProcess(args, { cwd: this.folder });
    this.#started.push(running);
    return running;
  }

  startAs(options: SpawnOptions, ...args: readonly string[]): CliProcess {
    const running = new CliProcess(args, { cwd: this.folder, ...options });
    this.#started.push(running);
    return running;
  }

  async run(...args: readonly string[]): Promise<CliExit> {
    return this.start(...args).ended;
  }

  /** Runs a command that starts many processes. Its temporary files are in this directory, too. */
  async runLong(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<CliExit> {
    const given = { PATH: process.env.PATH, NO_COLOR: "1", TMPDIR: this.folder, ...env };
    const running = new CliProcess(args, { cwd: this.folder, env: given }, 1.5 * stuckProcessMs);
    this.#started.push(running);
    return running.ended;
  }

  async json(...args: readonly string[]): Promise<{ readonly exit: number | null; readonly answer: CliDocument }> {
    const { exit, out, err } = await this.run(...args, "--json");
    if (!/^\{.*\}\n$/.test(out)) throw new Error(`not one document: ${JSON.stringify({ args, exit, out, err })}`);
    return { exit, answer: JSON.parse(out) as CliDocument };
  }

  async clear(): Promise<void> {
    for (const running of this.#started) running.kill("SIGKILL");
    await Promise.all(this.#started.map(({ ended }) => ended));
    rmSync(this.folder, { recursive: true });
  }
}

/** The JSON document that the program prints, with the fields that the tests read. */
export interface CliDocument {
  readonly [field: string]: unknown;
  readonly run_id: string;
  readonly status: string;
  readonly gates: readonly { readonly gate_id: string; readonly status?: string }[];
  readonly steps: Readonly<Record<string, { readonly state: string; readonly output?: unknown }>>;
  readonly fault: { readonly code: string; readonly message: string };
}

/** A running process of the program. */
export class CliProcess {
  readonly ended: Promise<CliExit>;
  readonly #child: ChildProcess;
  readonly #output = { out: "", err: "" };
  readonly #listeners = new Set<() => void>();

  constructor(args: readonly string[], options: SpawnOptions, stuckMs = stuckProcessMs) {
    const command = [repositoryPath("dist", "cli.js"), ...args];
    const env = { PATH: process.env.PATH, NO_COLOR: "1" };
    this.#child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "pipe"], env, ...options });
    this.#child.stdout?.on("data", (chunk) => this.#addOutput("out", chunk));
    this.#child.stderr?.on("data", (chunk) => this.#addOutput("err", chunk));
    this.ended = this.#end(stuckMs);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits until the output matches. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    const find = () => pattern.exec(this.#output.out) ?? pattern.exec(this.#output.err);
    for (;;) {
      const match = find();
      if (match !== null) return match;
      const change = new Promise<"change">((done) => this.#listeners.add(() => done("change")));
      const winner = await Promise.race([change, this.ended]);
      if (winner !== "change" && find() === null)
        throw new Error(`the output never matched ${pattern}: ${JSON.stringify(winner)}`);
    }
  }

  #addOutput(where: "out" | "err", chunk: unknown): void {
    this.#output[where] += String(chunk);
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  #end(stuckMs: number): Promise<CliExit> {
    return new Promise((done) => {
      const stuck = setTimeout(() => this.kill("SIGKILL"), stuckMs);
      this.#child.once("close", (exit) => {
        clearTimeout(stuck);
        done({ exit, ...this.#output });
      });
    });
  }
}

const configText = `
import { appendFileSync, existsSync } from "node:fs";
import { defineTool } from ${libraryImport};

const text = { type: "string" };
const object = (properties) => ({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });

const write = defineTool({
  name: "mail.write", effect: "reads", input: object({ to: text }), output: object({ body: text }),
  run: async ({ to }) => ({ body: "Dear " + to + "\\u001b]0;pwned\\u0007\\u202e" }),
});

const send = defineTool({
  name: "mail.send", effect: "acts", input: object({ to: text, body: text }), output: object({ id: text }), timeoutMs: 600_000,
  run: async ({ to }) => {
    appendFileSync(new URL("witness.txt", import.meta.url), "mail to " + to + "\\n");
    console.log("sending now");
    if (to === "slow@example.org") {
      let looking;
      await new Promise((sent) => { looking = setInterval(() => existsSync("go") && sent(), 20); });
      clearInterval(looking);
    }
    if (to === "hang@example.org") await new Promise(() => setInterval(() => {}, 1000));
    return { id: "m-1" };
  },
});

export default { tools: process.env.WITHOUT_SEND ? [write] : [write, send] };
`;
