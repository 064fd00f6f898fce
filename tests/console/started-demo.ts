import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { repositoryPath } from "../repo/repository-path.ts";

/** The state of a demo, with the fields that tests read. */
export interface DemoState {
  readonly server: { readonly pid: number | null; readonly starts: number; readonly is_up: boolean };
  readonly model: { readonly kind: string; readonly name: string };
  readonly mails: readonly { readonly to: string; readonly message_id: string; readonly body: string }[];
  readonly refunds: readonly { readonly order: number; readonly cents: number }[];
  readonly invoices: readonly { readonly invoice: string }[];
  readonly files: readonly { readonly path: string; readonly before: string | null; readonly now: string | null }[];
  readonly started: readonly {
    readonly scenario: string;
    readonly run_id: string | null;
    readonly state: string;
    readonly said?: string;
    readonly problem?: string;
  }[];
}

/** A gate or an act in doubt, with the fields that tests read. */
export interface DemoItem {
  readonly gate_id: string;
  readonly run_id: string;
  readonly step_id: string;
  readonly tool: string;
  readonly waiting_for?: string;
  readonly preview?: { readonly output?: { readonly diff?: string } };
}

/** The demo as `npm start` runs it, with the web console. */
export class StartedDemo {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #output = "";
  #origin = "";
  #cookie = "";
  #csrf = "";

  /** `waits` says whether the mail server, the bank and the model of the demo answer sooner. */
  constructor(waits: "usual" | "short" = "usual", env: Readonly<Record<string, string>> = {}) {
    const program = repositoryPath("examples", "demo", "main.mjs");
    const { ANTHROPIC_API_KEY: _anthropic, OPENAI_API_KEY: _openai, ...others } = process.env;
    this.#child = spawn(
      process.execPath,
      [program, "--console", "--port", "0", ...(waits === "short" ? ["--short-waits"] : [])],
      {
        env: { ...others, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding("utf8").on("data", (chunk: string) => {
        this.#output += chunk;
      });
    this.#ended = new Promise((resolve) => this.#child.on("exit", resolve));
  }

  get output(): string {
    return this.#output;
  }

  /** Waits for the link that the demo prints, and returns it. */
  async link(): Promise<string> {
    return this.#until(() => /http:\S+\/demo#link=\S+/.exec(this.#output)?.[0]);
  }

  /** Uses the link as a browser does. */
  async logIn(): Promise<void> {
    const { origin, hash } = new URL(await this.link());
    const response = await fetch(`${origin}/v1/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ link: hash.replace("#link=", "") }),
    });
    this.#origin = origin;
    this.#cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
    this.#csrf = ((await response.json()) as { csrf: string }).csrf;
  }

  /** Sends a request. While the server is dead, a GET is repeated. */
  async send<Answer>(method: "GET" | "POST", path: string, body: object = {}): Promise<Answer> {
    const sent = () =>
      fetch(`${this.#origin}${path}`, {
        method,
        headers: { cookie: this.#cookie, "x-writ-csrf": this.#csrf, "content-type": "application/json" },
        ...(method === "POST" && { body: JSON.stringify(body) }),
      });
    const response = await (method === "POST" ? sent() : this.#until(() => sent().catch(() => undefined)));
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? (undefined as Answer) : ((await response.json()) as Answer);
  }

  state(): Promise<DemoState> {
    return this.send("GET", "/v1/demo");
  }

  /** Waits until the state is as wanted, and returns it. */
  stateWith(isWanted: (state: DemoState) => boolean): Promise<DemoState> {
    return this.#until(async () => {
      const state = await this.state();
      return isWanted(state) ? state : undefined;
    });
  }

  /** Waits until the list has an item of the tool. */
  itemOf(list: "gates?status=open" | "in-doubt", tool: string): Promise<DemoItem> {
    return this.#until(async () => {
      const { items } = await this.send<{ items: readonly DemoItem[] }>("GET", `/v1/${list}`);
      return items.find((item) => item.tool === tool && item.waiting_for !== "verifier");
    });
  }

  async approve(tool: string): Promise<DemoItem> {
    const gate = await this.itemOf("gates?status=open", tool);
    await this.send("POST", `/v1/gates/${gate.gate_id}/approve`);
    return gate;
  }

  /** Sends the signal of Ctrl-C, and returns the exit code. */
  stop(): Promise<number | null> {
    this.#child.kill("SIGINT");
    return this.#ended;
  }

  async clear(): Promise<void> {
    if (this.#child.exitCode === null) await this.stop();
  }

  /** The ids of the processes that the demo has started and that still run. */
  processes(): readonly number[] {
    const pids = [...this.#output.matchAll(/as process (\d+)/g)].map(([, pid]) => Number(pid));
    return pids.filter((pid) => existsSync(`/proc/${pid}`) && !isZombie(pid));
  }

  async #until<Found>(find: () => Found | undefined | Promise<Found | undefined>): Promise<Found> {
    for (;;) {
      const found = await find();
      if (found !== undefined) return found;
      if (this.#child.exitCode !== null) throw new Error(`the demo has ended:\n${this.#output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function isZombie(pid: number): boolean {
  return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}
