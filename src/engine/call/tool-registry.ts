import type { ToolCondition } from "../../core/call/guard.ts";
import type { ToolFacts } from "../../core/call/proposal.ts";
import type { ToolPin } from "../../core/event/event.ts";
import type { KnownTools } from "../../core/plan/plan-context.ts";
import type { Expression, ExpressionLanguage } from "../../core/ports/expression.ts";
import { requirementsMet } from "../../core/run/worker-requirements.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { ruleFields, ruleVariables } from "../../policy/rules/rule-input.ts";
import { digestOfJson, digestOfParts } from "../ports/digest.ts";

/** The tools of an engine, and their pins: a run only uses the versions that it was accepted with. */
export class ToolRegistry {
  /** The tools that plans and tools can name. */
  readonly callable: KnownTools;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #pins = new Map<string, ToolPin>();
  readonly #facts = new Map<string, ToolFacts>();
  readonly #conditions = new Map<string, readonly ToolCondition[]>();

  /** `verbs` are the tools of the engine's own methods. Policies judge both by their names. */
  constructor(callable: readonly Tool[], language: ExpressionLanguage, verbs: readonly Tool[] = []) {
    const tools = [...callable, ...verbs];
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    assertOwnNames(callable, verbs);
    const byName = new Map(callable.map((tool) => [tool.name, tool]));
    this.callable = { get: (name) => byName.get(name), all: () => callable };
    for (const tool of tools) {
      this.#pins.set(tool.name, {
        version: tool.version,
        schema_hash: digestOfParts(tool.effect, tool.input.hash, tool.output.hash),
        ...(tool.effect === "acts" && { act_hash: actHash(tool) }),
      });
      this.#facts.set(tool.name, toolFacts(tool));
      this.#conditions.set(tool.name, compileConditions(tool, language));
    }
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
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
    return Array.from(this.#pins).flatMap(([name, pin]) => requirementsMet(name, pin));
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

function assertOwnNames(callable: readonly Tool[], verbs: readonly Tool[]): void {
  const names = callable.map(({ name }) => name);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  if (twice.length > 0)
    throw new FaultError(fault("TOOL_INVALID", `two tools have the name ${twice.join(", ")}; give each its own name`));
  const reserved = verbs.find(({ name }) => names.includes(name));
  if (reserved === undefined) return;
  const message = `no tool can have the name ${reserved.name}: policies judge the engine's method by it; give the tool another name`;
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

function compileConditions(tool: Tool, language: ExpressionLanguage): readonly ToolCondition[] {
  return tool.preconditions.map(({ id, expression }) => ({
    id,
    expression: compilePrecondition(language, tool, expression),
  }));
}

function compilePrecondition(language: ExpressionLanguage, { name }: Tool, source: string): Expression {
  const read = language.read(source, ruleVariables, ruleFields);
  if (!("wrong" in read)) return read;
  throw new FaultError(fault("TOOL_INVALID", `${name}: its precondition ${source} cannot be parsed: ${read.wrong}`));
}
