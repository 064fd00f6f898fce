import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const dist = join(root, "dist");

/** The library under test, as a string that a config can import. */
export const library = JSON.stringify(pathToFileURL(join(dist, "index.js")).href);

/** A process that has not said or done what is waited for by then never will. */
const patienceMs = 120_000;

export interface Answer {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

/** A directory as a user has it, with a config and a plan, and the built program run in it. */
export class Site {
  readonly folder = mkdtempSync(join(tmpdir(), "writ-cli-"));
  readonly #started: Running[] = [];

  constructor() {
    this.write("writ.config.mjs", configText);
    this.plan("plan.json", "ana@example.org");
  }

  write(name: string, text: string | Uint8Array): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** A plan that writes a mail and sends it; to hang@example.org it never stops sending, to slow@… not before there is a file "go". */
  plan(name: string, to: string): void {
    const steps = [
      { step_id: "write", name: "mail.write", payload: { to } },
      { step_id: "send", name: "mail.send", payload: { to }, bindings: { "/body": { step: "write", path: "/body" } } },
    ];
    this.write(name, JSON.stringify({ plan_id: "welcome", steps }));
  }

  /** What happened in the world, as the world counts it. */
  effects(): readonly string[] {
    const witness = join(this.folder, "witness.txt");
    return existsSync(witness) ? readFileSync(witness, "utf8").trimEnd().split("\n") : [];
  }

  start(...args: readonly string[]): Running {
    const running = new Running(args, { cwd: this.folder });
    this.#started.push(running);
    return running;
  }

  startAs(options: SpawnOptions, ...args: readonly string[]): Running {
    const running = new Running(args, { cwd: this.folder, ...options });
    this.#started.push(running);
    return running;
  }

  async run(...args: readonly string[]): Promise<Answer> {
    return this.start(...args).ended;
  }

  /** For what takes many processes, one after the other, and temporary files, which are put here, too. */
  async runLong(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Answer> {
    const given = { PATH: process.env.PATH, NO_COLOR: "1", TMPDIR: this.folder, ...env };
    const running = new Running(args, { cwd: this.folder, env: given }, 1.5 * patienceMs);
    this.#started.push(running);
    return running.ended;
  }

  async json(...args: readonly string[]): Promise<{ readonly exit: number | null; readonly answer: Document }> {
    const { exit, out, err } = await this.run(...args, "--json");
    if (!/^\{.*\}\n$/.test(out)) throw new Error(`not one document: ${JSON.stringify({ args, exit, out, err })}`);
    return { exit, answer: JSON.parse(out) as Document };
  }

  async clear(): Promise<void> {
    for (const running of this.#started) running.kill("SIGKILL");
    await Promise.all(this.#started.map(({ ended }) => ended));
    rmSync(this.folder, { recursive: true });
  }
}

/** What the program answered, as far as the tests read it. */
export interface Document {
  readonly [field: string]: unknown;
  readonly run_id: string;
  readonly status: string;
  readonly gates: readonly { readonly gate_id: string; readonly status?: string }[];
  readonly steps: Readonly<Record<string, { readonly state: string; readonly output?: unknown }>>;
  readonly fault: { readonly code: string; readonly message: string };
}

/** The program while it runs. */
export class Running {
  readonly ended: Promise<Answer>;
  readonly #child: ChildProcess;
  readonly #heard = { out: "", err: "" };
  readonly #listeners = new Set<() => void>();

  constructor(args: readonly string[], options: SpawnOptions, stuckMs = patienceMs) {
    const command = [join(dist, "cli.js"), ...args];
    const env = { PATH: process.env.PATH, NO_COLOR: "1" };
    this.#child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "pipe"], env, ...options });
    this.#child.stdout?.on("data", (chunk) => this.#hear("out", chunk));
    this.#child.stderr?.on("data", (chunk) => this.#hear("err", chunk));
    this.ended = this.#end(stuckMs);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** What was said when it first matched. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    const said = () => pattern.exec(this.#heard.out) ?? pattern.exec(this.#heard.err);
    for (;;) {
      const match = said();
      if (match !== null) return match;
      const change = new Promise<"change">((done) => this.#listeners.add(() => done("change")));
      const news = await Promise.race([change, this.ended]);
      if (news !== "change" && said() === null) throw new Error(`never said ${pattern}: ${JSON.stringify(news)}`);
    }
  }

  #hear(where: "out" | "err", chunk: unknown): void {
    this.#heard[where] += String(chunk);
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  #end(stuckMs: number): Promise<Answer> {
    return new Promise((done) => {
      const stuck = setTimeout(() => this.kill("SIGKILL"), stuckMs);
      this.#child.once("close", (exit) => {
        clearTimeout(stuck);
        done({ exit, ...this.#heard });
      });
    });
  }
}

const configText = `
import { appendFileSync, existsSync } from "node:fs";
import { defineTool } from ${library};

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
