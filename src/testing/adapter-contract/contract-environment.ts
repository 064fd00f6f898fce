import assert from "node:assert/strict";
import type { OpenGate } from "../../core/run/gate-details.ts";
import type { Store } from "../../core/store/store.ts";
import type { Effect } from "../../core/values/effect.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { Engine, EngineOptions, PrincipalInput } from "../../engine/api/engine-api.ts";
import { createEngine } from "../../engine/engine.ts";
import { schemaFrom } from "../../schema/schema-from.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import { fakeClock } from "../fake-clock.ts";
import { manualTimers } from "../manual-timers.ts";
import type { ModelScript } from "../scripted-model/model-script.ts";
import { type ScriptedModel, scriptedModel } from "../scripted-model/scripted-model.ts";
import type { AdapterProgram, AdapterUnderTest, ContractTool } from "./adapter-under-test.ts";
import { type CallRecord, readCallRecords } from "./call-record.ts";
import { textsAboutCalls } from "./texts-about-calls.ts";

export const botAgent: PrincipalInput = { id: "bot", kind: "agent", tenant: "acme" };
export const anaPerson: PrincipalInput = { id: "ana", kind: "person", tenant: "acme" };

/** The work of a tool of the contract. The default returns its input. */
export type ToolWork = (input: Json, signal: AbortSignal | undefined, stage: ContractEnvironment) => unknown;

export interface EnvironmentTerms {
  readonly script: ModelScript;
  /** True: acts are held for a person. */
  readonly gated: boolean;
  readonly engine?: Partial<EngineOptions>;
  readonly work: Readonly<Record<string, ToolWork>>;
  readonly maxRetries: number;
}

const LEASE_MS = 15_000;

/** A store, a clock, a scripted model, and the effects of the tools. The program on it can be killed and started again. */
export class ContractEnvironment {
  /** The effects of the tool `send`, in order. */
  readonly sent: Json[] = [];
  /** Resolves when a tool of the contract runs for the first time. */
  readonly running: Promise<void>;
  readonly model: ScriptedModel;
  readonly #adapter: AdapterUnderTest;
  readonly #terms: EnvironmentTerms;
  readonly #clock = fakeClock();
  readonly #timers = manualTimers(this.#clock);
  readonly #store: Store = memoryStore({ clock: this.#clock });
  readonly #told: Record<string, string> = {};
  #ran: () => void = () => {};
  #process: { readonly kill: () => void; readonly engine: Engine; readonly program: AdapterProgram } | null = null;

  private constructor(adapter: AdapterUnderTest, terms: EnvironmentTerms, model: ScriptedModel) {
    this.#adapter = adapter;
    this.#terms = terms;
    this.model = model;
    this.running = new Promise((resolve) => {
      this.#ran = resolve;
    });
  }

  static async start(adapter: AdapterUnderTest, terms: EnvironmentTerms): Promise<ContractEnvironment> {
    const stage = new ContractEnvironment(adapter, terms, await scriptedModel(terms.script));
    await stage.restart();
    return stage;
  }

  /** Starts the program, as another process after a kill. */
  async restart(): Promise<void> {
    let isDead = false;
    const engine = await createEngine({
      store: mortalStore(this.#store, () => isDead),
      timers: { after: (ms, work) => this.#timers.after(ms, () => isDead || work()) },
      dice: () => 0.5,
      tools: [],
      tenants: { acme: { mode: this.#terms.gated ? "human_gated" : "auto_exec" } },
      ...this.#adapter.engine,
      ...this.#terms.engine,
    });
    const program = await this.#adapter.open({
      engine,
      session: "chat",
      principal: botAgent,
      tools: contractTools((tool, input, signal) => this.#work(tool, input, signal)),
      model: this.model,
      script: this.#terms.script,
      maxRetries: this.#terms.maxRetries,
    });
    const kill = () => {
      isDead = true;
    };
    this.#process = { kill, engine, program };
  }

  async #work(tool: string, input: Json, signal: AbortSignal | undefined): Promise<unknown> {
    this.#ran();
    if (tool === "send") this.sent.push(input);
    const work = this.#terms.work[tool];
    return work === undefined ? { got: input } : work(input, signal, this);
  }

  /** Kills the process of the program: nothing that it does is stored any more, and its leases expire. */
  kill(): void {
    this.#running.kill();
    this.#clock.advance(LEASE_MS);
  }

  get #running() {
    assert.ok(this.#process !== null, "a program runs");
    return this.#process;
  }

  get engine(): Engine {
    return this.#running.engine;
  }

  get adapter(): AdapterUnderTest {
    return this.#adapter;
  }

  get program(): AdapterProgram {
    return this.#running.program;
  }

  /** Asks the question and returns the last text. */
  async ask(signal?: AbortSignal): Promise<string | null> {
    const { text, told = {} } = await this.program.ask(signal);
    Object.assign(this.#told, told);
    return text;
  }

  /** Hands responses to the framework, if it knows approvals of its own. */
  async respond(responses: Parameters<NonNullable<AdapterProgram["respond"]>>[0]): Promise<void> {
    const { told = {} } = (await this.program.respond?.(responses)) ?? {};
    Object.assign(this.#told, told);
  }

  /** The text that the model, or the client in its place, received about a call. Null: none. */
  told(id: string): string | null {
    return { ...this.#told, ...textsAboutCalls(this.model.requests) }[id] ?? null;
  }

  /** The record of the calls of the session, without the fields that differ between adapters. */
  async record(): Promise<readonly CallRecord[]> {
    await this.settle();
    const runs = await this.engine.runs({ principal: anaPerson });
    const records: CallRecord[] = [];
    for (const { run_id } of runs) {
      const handle = await this.engine.run(run_id, { principal: anaPerson });
      const events: JsonObject[] = [];
      for await (const { event } of handle.events()) events.push(JSON.parse(JSON.stringify(event)) as JsonObject);
      records.push(...readCallRecords(events, this.#adapter));
    }
    return records;
  }

  /** Lets work that was started go on, without time passing. */
  settle(): Promise<void> {
    return this.#timers.pass(0);
  }

  advance(ms: number): Promise<void> {
    return this.#timers.pass(ms);
  }

  /** The gate that holds a call with this value of `to`. */
  async gate(to: string): Promise<OpenGate> {
    const gates = await this.engine.gates({ principal: anaPerson });
    const gate = gates.find((open) => "input" in open && JSON.stringify(open.input).includes(`"to":"${to}"`));
    assert.ok(gate !== undefined && "input" in gate, `the call to ${to} is held`);
    return gate as unknown as OpenGate;
  }

  /** Returns the code of the fault that something rejects with. */
  async codeOf(work: Promise<unknown>): Promise<string> {
    try {
      await work;
    } catch (error) {
      return (error as { readonly fault?: { readonly code: string } }).fault?.code ?? String(error);
    }
    return "no fault";
  }

  async close(): Promise<void> {
    const { program, engine, kill } = this.#running;
    await this.model.close();
    await program.close().catch(() => {});
    kill();
    void engine.close().catch(() => {});
  }
}

/** A store whose calls are not answered after the death of their process. */
function mortalStore(real: Store, isDead: () => boolean): Store {
  const never = () => new Promise<never>(() => {});
  const entries = Object.entries(real).map(([name, member]: [string, unknown]) => {
    if (typeof member !== "function" || name === "watch" || name === "changes") return [name, member] as const;
    const answered = async (...given: readonly unknown[]): Promise<unknown> => {
      if (isDead()) return never();
      const [settled] = await Promise.allSettled([(member as (...all: readonly unknown[]) => unknown)(...given)]);
      if (isDead()) return never();
      if (settled?.status === "rejected") throw settled.reason;
      return settled?.value;
    };
    return [name, answered] as const;
  });
  return Object.fromEntries(entries) as unknown as Store;
}

const text = { type: "string" } as const;
const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const declarations: readonly { readonly name: string; readonly effect: Effect; readonly input: JsonObject }[] = [
  { name: "search", effect: "reads", input: object({ q: text }, ["q"]) },
  { name: "note", effect: "writes", input: object({ text }, ["text"]) },
  { name: "send", effect: "acts", input: object({ to: text }, ["to"]) },
];

function contractTools(
  work: (tool: string, input: Json, signal: AbortSignal | undefined) => unknown,
): readonly ContractTool[] {
  return declarations.map(({ name, effect, input }) => {
    const schema = schemaFrom(input);
    return {
      name,
      effect,
      input,
      description: `The tool ${name} of the contract`,
      parse: (given) => {
        const parsed = schema.parse(given);
        if (!parsed.ok) throw new Error(parsed.fault.message);
        return parsed.value;
      },
      run: (given, signal) => work(name, given as Json, signal),
    };
  });
}
