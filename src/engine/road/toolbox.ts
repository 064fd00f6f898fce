import type { Pin } from "../../core/event.ts";
import type { Expression, Language } from "../../core/expression.ts";
import { type Fault, FaultError, fault } from "../../core/fault.ts";
import { toolNeed } from "../../core/need.ts";
import type { ToolFacts } from "../../core/proposal.ts";
import type { Tool } from "../../core/tool.ts";
import { variables } from "../../policy/case.ts";
import { digestOf } from "../digest.ts";

/** The tools an engine has, and the pins by which a run recognises the ones it was accepted with. */
export class Toolbox {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #pins = new Map<string, Pin>();
  readonly #facts = new Map<string, ToolFacts>();

  constructor(tools: readonly Tool[], language: Language) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    if (this.#tools.size !== tools.length) {
      const twice = tools.map((tool) => tool.name).filter((name, index, names) => names.indexOf(name) !== index);
      throw new FaultError(fault("TOOL_INVALID", `two tools are called ${twice.join(", ")}; give each its own name`));
    }
    for (const tool of tools) {
      this.#pins.set(tool.name, {
        version: tool.version,
        schema_hash: digestOf(tool.effect, tool.input.hash, tool.output.hash),
      });
      this.#facts.set(tool.name, factsOf(tool, language));
    }
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  pin(name: string): Pin | null {
    return this.#pins.get(name) ?? null;
  }

  facts(name: string): ToolFacts | null {
    return this.#facts.get(name) ?? null;
  }

  /** What runs need that wait for one of these. */
  needs(): readonly string[] {
    return Array.from(this.#pins, ([name, pin]) => toolNeed(name, pin));
  }

  all(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  /** Why a step must wait: its tool is not here, or not the one the run was accepted with. */
  mismatch(name: string, pinned: Pin | null): Fault | null {
    const here = this.pin(name);
    if (pinned === null) return null;
    if (here === null)
      return fault(
        "TOOL_MISSING",
        `${name}@${pinned.version} is not registered here; register it and the step goes on`,
      );
    if (here.version === pinned.version && here.schema_hash === pinned.schema_hash) return null;
    const what = here.version === pinned.version ? "its schemas or effect changed" : `it is ${here.version} now`;
    return fault(
      "TOOL_CHANGED",
      `the run was accepted with ${name}@${pinned.version}, but ${what}; register the old one, or cancel the run`,
    );
  }
}

/** In one piece: of an object that is put together from others nobody can tell beforehand what it will look like. */
function factsOf(tool: Tool, language: Language): ToolFacts {
  return {
    name: tool.name,
    version: tool.version,
    effect: tool.effect,
    tags: tool.tags,
    risk: tool.risk,
    roles: tool.roles,
    timeoutMs: tool.timeoutMs,
    tries: tool.tries,
    settleAfterMs: tool.settleAfterMs,
    confirm: tool.confirm,
    idempotentForMs: tool.idempotentForMs,
    errorsMean: tool.errorsMean,
    onDuplicate: tool.onDuplicate,
    safeIfAbsent: tool.safeIfAbsent,
    conditions: tool.preconditions.map(({ id, expression }) => ({
      id,
      expression: readIn(language, tool, expression),
    })),
    verifies: tool.verify !== null,
    compensates: tool.compensate !== null,
  };
}

function readIn(language: Language, { name }: Tool, source: string): Expression {
  const read = language.read(source, variables);
  if (!("wrong" in read)) return read;
  throw new FaultError(fault("TOOL_INVALID", `${name}: its precondition ${source} cannot be read: ${read.wrong}`));
}
