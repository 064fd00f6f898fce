import type { CallAnswer } from "../core/run/call-answer.ts";
import type { OpenGate } from "../core/run/gate-details.ts";
import type { RunResult } from "../core/run/run-result.ts";
import type { Effect } from "../core/values/effect.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import { type JsonObject, sameJson } from "../core/values/json.ts";
import type { PeerPackage } from "../core/values/peer-package.ts";
import type { Engine } from "../engine/api/engine-api.ts";
import type { AgentCall, BegunCall, CallToolOptions, CloseOptions, OpenRun } from "../engine/api/open-run-api.ts";
import type { PrincipalOptions } from "../engine/api/request-options.ts";
import { outputAsPlainData } from "../engine/ports/output-as-plain-data.ts";
import { installedPackageProblem } from "../peer-packages/installed-package-problem.ts";
import { answeredCalls } from "./answered-calls.ts";
import { parseArguments } from "./call-functions.ts";
import { type DeclaredEffects, termsOf } from "./declared-effects.ts";
import { originalCallId } from "./distinct-call-ids.ts";
import { type FrameworkTool, toolNameFor } from "./framework-tool.ts";
import { FrameworkTools } from "./framework-tools.ts";
import type {
  CallDecision,
  FrameworkBeginOptions,
  FrameworkCall,
  FrameworkCallOptions,
  FrameworkHandler,
  Governed,
} from "./governed.ts";
import { offeredTools, providerTools, type RecordedFetchOptions, recordedFetch } from "./recorded-fetch.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

export interface GovernedTerms {
  readonly engine: Engine;
  readonly run: OpenRun;
  readonly effects: DeclaredEffects;
  readonly hold: "return" | "wait";
  readonly print: (text: string) => void;
  readonly openBeside: (name: string) => Promise<OpenRun>;
}

export class GovernedSession implements Governed {
  readonly run: OpenRun;
  readonly hold: "return" | "wait";
  readonly #engine: Engine;
  readonly #effects: DeclaredEffects;
  readonly #print: (text: string) => void;
  readonly openBeside: (name: string) => Promise<OpenRun>;
  readonly #names = new Map<string, string>();
  /** The tools that the provider or the client executes. */
  readonly #outside = new Set<string>();
  /** The tools that the requests to the model name. */
  readonly #offered = new Set<string>();
  /** The calls in the last answers of the model that no adapter has proposed. */
  readonly #unproposed = new Map<string, string>();
  #registered: Promise<void> = Promise.resolve();

  constructor({ engine, run, effects, hold, print, openBeside }: GovernedTerms) {
    this.run = run;
    this.hold = hold;
    this.#engine = engine;
    this.#effects = effects;
    this.#print = print;
    this.openBeside = openBeside;
  }

  declare(tools: readonly FrameworkTool[]): void {
    for (const { name, outside } of tools) {
      this.#nameOf(name);
      if (outside === true) this.#outside.add(name);
    }
    const registered = FrameworkTools.of(this.#engine).add(tools, this.#effects, this.#print);
    this.#registered = Promise.all([this.#registered, registered]).then(() => {});
    this.#registered.catch(() => {}); // The calls of the tools report it.
  }

  expectLibrary(library: PeerPackage, door: string): void {
    const problem = installedPackageProblem(library, door);
    if (problem !== null) this.#print(`writ: ${problem}`);
  }

  /** Two tools whose names differ only in characters that Writ does not take would be one tool in the record. */
  #nameOf(tool: string): string {
    const name = toolNameFor(tool);
    const other = this.#names.get(name);
    if (other !== undefined && other !== tool)
      throw new FaultError(fault("TOOL_INVALID", `the tools ${other} and ${tool} have the same name ${name} in Writ`));
    this.#names.set(name, tool);
    return name;
  }

  effectOf(tool: string): Effect {
    return termsOf(this.#effects, tool)?.effect ?? "acts";
  }

  acceptArguments(id: string): void {
    this.#unproposed.delete(originalCallId(id));
  }

  async judge(call: FrameworkCall, handler: FrameworkHandler): Promise<CallAnswer | null> {
    const answer = await this.#propose(call, { run: null });
    if (answer.status === "waiting" && answer.blocked.reason_code === "TOOL_AWAY") return null;
    // An approval is used at once while this process lives, so the function is kept beside the held call.
    if (answer.status === "held") return this.#propose(call, { run: runWith(call, handler), keepHandler: true });
    return answer;
  }

  async call(call: FrameworkCall, handler: FrameworkHandler, options: FrameworkCallOptions = {}): Promise<CallAnswer> {
    const { signal } = options;
    if (signal?.aborted) return { status: "cancelled" };
    return this.#propose(call, {
      run: runWith(call, handler),
      keepHandler: true,
      waitMs: this.#waitMs,
      ...(signal !== undefined && { signal }),
    });
  }

  async begin(call: FrameworkCall, { forMs, signal }: FrameworkBeginOptions): Promise<BegunCall | CallAnswer> {
    if (signal?.aborted) return { status: "cancelled" };
    await this.#registered;
    const { turn } = call;
    return this.run.beginCall(this.#named(call), {
      forMs,
      waitMs: this.#waitMs,
      ...(turn !== undefined && { turn }),
      ...(signal !== undefined && { signal }),
    });
  }

  get #waitMs(): number {
    return this.hold === "wait" ? DAY_MS : 0;
  }

  #named({ id, tool, input }: FrameworkCall): AgentCall {
    this.acceptArguments(id);
    return { id: originalCallId(id), tool: this.#nameOf(tool), input: outputAsPlainData(input ?? {}).value };
  }

  async #propose(call: FrameworkCall, options: CallToolOptions): Promise<CallAnswer> {
    await this.#registered;
    const { turn } = call;
    return this.run.callTool(this.#named(call), turn === undefined ? options : { ...options, turn });
  }

  fetch(options: RecordedFetchOptions = {}): typeof globalThis.fetch {
    return recordedFetch(this.run, options, {
      onRequest: (request) => {
        for (const name of offeredTools(request)) this.#offered.add(name);
        this.declare(providerTools(request).map((name) => ({ name, outside: true })));
        return this.#recordRefusals(request);
      },
      onAnswer: ({ calls }) => {
        for (const { id, tool } of calls) if (tool !== null) this.#unproposed.set(id, tool);
      },
    });
  }

  /**
   * A framework answers a call of an unknown tool, or with arguments that the tool does not accept, by itself. The next
   * request shows it. The call is proposed as the model wrote it, so that its refusal is on record.
   */
  async #recordRefusals(request: JsonObject): Promise<void> {
    for (const { id, input } of answeredCalls(request)) {
      const tool = this.#unproposed.get(originalCallId(id));
      if (tool === undefined || this.#outside.has(tool)) continue;
      const isDeclared = this.#names.has(toolNameFor(tool));
      if (!isDeclared && this.#offered.has(tool)) continue; // The program has made the call without Writ.
      // The text of arguments is no object, so a tool that is known refuses it.
      const given = isDeclared ? JSON.stringify(input) : parseArguments(input);
      await this.#propose({ id, tool, input: given }, { run: null });
    }
    this.#unproposed.clear();
  }

  async confirm({ id, turn }: Pick<FrameworkCall, "id" | "turn">, reason: string): Promise<void> {
    await this.run.confirmCall(originalCallId(id), { reason, ...(turn !== undefined && { turn }) });
  }

  async decide(decisions: readonly CallDecision[], { principal }: PrincipalOptions): Promise<void> {
    if (decisions.length === 0) return;
    const turns = await this.run.turns();
    for (const { id, approved, reason, input } of decisions) {
      const gate = heldGateOf(turns, originalCallId(id), input);
      if (gate === null) continue;
      const options = { principal, digest: gate.digest, ...(reason !== undefined && { reason }) };
      if (approved) await this.#engine.approve(gate.gate_id, options);
      else await this.#engine.reject(gate.gate_id, options);
    }
  }

  close(options: CloseOptions = {}): Promise<RunResult> {
    return this.run.close(options);
  }
}

/** Passes on the object of the framework, which may hold values other than JSON, unless a person edited the input. */
function runWith({ input }: FrameworkCall, handler: FrameworkHandler): NonNullable<CallToolOptions["run"]> {
  const proposed = outputAsPlainData(input ?? {}).value;
  return async (json, context) => handler(sameJson(json, proposed) ? input : json, context);
}

/**
 * Returns the gate of a held call. Null: the call was decided before, so a second response decides nothing. Throws
 * GATE_MISMATCH if the decision is about another call than the one that is held.
 */
function heldGateOf(turns: Awaited<ReturnType<OpenRun["turns"]>>, id: string, input: unknown): OpenGate | null {
  const calls = turns.flatMap((turn) => turn.calls).filter((call) => call.id === id);
  if (calls.length === 0) throw new FaultError(fault("GATE_NOT_FOUND", `the session has no call ${id}`));
  const held = calls.flatMap(({ answer }) => (answer?.status === "held" ? [answer.gate] : []));
  const same = input === undefined ? held : held.filter((gate) => sameJson(gate.input, outputAsPlainData(input).value));
  if (same.length > 1)
    throw new FaultError(fault("GATE_MISMATCH", `several held calls have the id ${id}; decide them by gate`));
  if (same[0] === undefined && held.length > 0)
    throw new FaultError(
      fault("GATE_MISMATCH", `the call ${id} is held with another input than the one that was decided`),
    );
  return same[0] ?? null;
}
