import type { ToolCondition } from "../../core/call/guard.ts";
import type { ToolFacts } from "../../core/call/proposal.ts";
import type { ToolPin } from "../../core/event/tool-pin.ts";
import { type KnownTools, unknownNameProblem } from "../../core/plan/plan-context.ts";
import type { ExpressionLanguage } from "../../core/ports/expression.ts";
import { ROLLBACK_TOOL } from "../../core/run/changes-to-roll-back.ts";
import { requirementsMet } from "../../core/run/worker-requirements.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { parseToolPrecondition } from "../../policy/parser/parse-tool-precondition.ts";
import { requestLimits } from "../api/request-limits.ts";
import { digestOfJson, digestOfParts } from "../ports/digest.ts";
import { MODEL_TOOL } from "./model-call-tool.ts";

/** The tools of an engine, and their pins: a step only uses the version that it was proposed with. */
export class ToolRegistry {
  /** The tools that plans and tools can name. */
  readonly callable: KnownTools;
  readonly #language: ExpressionLanguage;
  /** The tools that the program registers and removes. */
  readonly #own = new Map<string, Tool>();
  /** The tools that the engine provides itself: those of its state, and of its methods. */
  readonly #builtIn: ReadonlyMap<string, Tool>;
  readonly #pins = new Map<string, ToolPin>();
  readonly #facts = new Map<string, ToolFacts>();
  readonly #conditions = new Map<string, readonly ToolCondition[]>();

  /** `verbs` are the tools of the engine's own methods. Policies judge both by their names. */
  constructor(
    own: readonly Tool[],
    language: ExpressionLanguage,
    { state = NONE, verbs = NONE }: { readonly state?: readonly Tool[]; readonly verbs?: readonly Tool[] } = {},
  ) {
    this.#language = language;
    this.#builtIn = new Map([...state, ...verbs].map((tool) => [tool.name, tool]));
    const isVerb = new Set(verbs.map(({ name }) => name));
    this.callable = {
      get: (name) => (isVerb.has(name) ? undefined : this.get(name)),
      all: () => [...this.#own.values(), ...state],
    };
    this.put(own);
    for (const tool of this.#builtIn.values()) this.#describe(tool, compileConditions(tool, language));
  }

  /** Registers tools. A tool with the name of an earlier one replaces it. All of them are registered, or none. */
  put(tools: readonly Tool[]): void {
    assertOwnNames(tools, this.#builtIn);
    const added = tools.filter(({ name }) => !this.#own.has(name)).length;
    if (this.#own.size + added > requestLimits.tools)
      throw new FaultError(fault("LIMIT_EXCEEDED", `an engine has at most ${requestLimits.tools} tools`));
    const conditions = tools.map((tool) => compileConditions(tool, this.#language));
    for (const [index, tool] of tools.entries()) {
      this.#own.set(tool.name, tool);
      this.#describe(tool, conditions[index] ?? NONE);
    }
  }

  #describe(tool: Tool, conditions: readonly ToolCondition[]): void {
    this.#pins.set(tool.name, {
      version: tool.version,
      schema_hash: digestOfParts(tool.effect, tool.input.hash, tool.output.hash),
      ...(tool.effect === "acts" && { act_hash: actHash(tool) }),
    });
    this.#facts.set(tool.name, toolFacts(tool));
    this.#conditions.set(tool.name, conditions);
  }

  /** Removes tools that the program registered. Throws TOOL_UNKNOWN, and removes none, if one is not among them. */
  remove(names: readonly string[]): void {
    const unknown = names.find((name) => !this.#own.has(name));
    if (unknown !== undefined)
      throw new FaultError(fault("TOOL_UNKNOWN", unknownNameProblem("tool", unknown, [...this.#own.keys()])));
    for (const name of names)
      for (const known of [this.#own, this.#pins, this.#facts, this.#conditions]) known.delete(name);
  }

  /** The tools that the program registered, in the order of their registration. */
  own(): readonly Tool[] {
    return [...this.#own.values()];
  }

  get(name: string): Tool | undefined {
    return this.#own.get(name) ?? this.#builtIn.get(name);
  }

  pin(name: string): ToolPin | null {
    return this.#pins.get(name) ?? null;
  }

  facts(name: string): ToolFacts | null {
    return this.#facts.get(name) ?? null;
  }

  conditionsOf(name: string): readonly ToolCondition[] {
    return this.#conditions.get(name) ?? [];
  }

  /** Returns the worker requirements that this worker meets with its tools. */
  needs(): readonly string[] {
    // A model is asked by the function of its caller, and a rollback is part of the engine, so every worker has both.
    const pins = Array.from(this.#pins).filter(([name]) => name !== MODEL_TOOL && name !== ROLLBACK_TOOL);
    return pins.flatMap(([name, pin]) => requirementsMet(name, pin));
  }

  /** Returns the tool with which a step was proposed. Null: it is not here, or not as it was. */
  pinned(name: string, pinned: ToolPin | null): Tool | null {
    return this.mismatch(name, pinned) === null ? (this.get(name) ?? null) : null;
  }

  /** Returns why a step must wait: its tool is missing, or not the version that the run was accepted with; else null. */
  mismatch(name: string, pinned: ToolPin | null): Fault | null {
    const here = this.pin(name);
    if (pinned === null) return null;
    if (here === null)
      return fault(
        "TOOL_MISSING",
        `${name}@${pinned.version} is not registered here; register it and the step goes on`,
      );
    const what = pinDifference(here, pinned);
    if (what === null) return null;
    return fault(
      "TOOL_CHANGED",
      `the run was accepted with ${name}@${pinned.version}, but ${what}; register the old one, or cancel the run`,
    );
  }
}

const NONE: readonly never[] = [];

function assertOwnNames(own: readonly Tool[], builtIn: ReadonlyMap<string, Tool>): void {
  const names = own.map(({ name }) => name);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  if (twice.length > 0)
    throw new FaultError(fault("TOOL_INVALID", `two tools have the name ${twice.join(", ")}; give each its own name`));
  const reserved = names.find((name) => builtIn.has(name));
  if (reserved === undefined) return;
  const message = `no tool can have the name ${reserved}: it is the name of a method or a tool of the engine; give the tool another name`;
  throw new FaultError(fault("TOOL_INVALID", message));
}

/** Returns how the tool differs from the pinned one. A run that was accepted earlier may have pinned it without `act_hash`. */
function pinDifference(here: ToolPin, pinned: ToolPin): string | null {
  if (here.version !== pinned.version) return `it is ${here.version} now`;
  if (here.schema_hash !== pinned.schema_hash) return "its schemas or effect changed";
  if (pinned.act_hash === undefined || here.act_hash === pinned.act_hash) return null;
  return "its identity, onDuplicate, errorsMean, idempotent or safeIfAbsent changed";
}

/** Returns the digest of the settings that decide whether an act is the same and may be repeated. */
function actHash({ identity, onDuplicate, errorsMean, idempotentForMs, safeIfAbsent }: Tool): Digest {
  const fields = identity?.map(({ pointer, normalize }) => [pointer, normalize]) ?? null;
  return digestOfJson([fields, onDuplicate, errorsMean, idempotentForMs, safeIfAbsent]);
}

/** Lists every field, so that all facts have the same hidden class. */
function toolFacts(tool: Tool): ToolFacts {
  return {
    name: tool.name,
    version: tool.version,
    effect: tool.effect,
    tags: tool.tags,
    risk: tool.risk,
    roles: tool.roles,
    confirmation: tool.confirmation,
    timeoutMs: tool.timeoutMs,
    tries: tool.tries,
    retry: tool.retry,
    asks: tool.asks,
    settleAfterMs: tool.settleAfterMs,
    confirm: tool.confirm,
    idempotentForMs: tool.idempotentForMs,
    errorsMean: tool.errorsMean,
    onDuplicate: tool.onDuplicate,
    safeIfAbsent: tool.safeIfAbsent,
    verifies: tool.verify !== null,
    compensates: tool.compensate !== null,
  };
}

function compileConditions({ name, preconditions }: Tool, language: ExpressionLanguage): readonly ToolCondition[] {
  return preconditions.map((precondition) => {
    const condition = parseToolPrecondition(precondition, language);
    if (!("wrong" in condition)) return condition;
    throw new FaultError(fault("TOOL_INVALID", `${name}: its precondition ${condition.wrong}`));
  });
}
