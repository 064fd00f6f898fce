import { FaultError, fault } from "../core/values/fault.ts";
import { type Json, sameJson } from "../core/values/json.ts";
import type { Engine } from "../engine/api/engine-api.ts";
import { outputAsPlainData } from "../engine/ports/output-as-plain-data.ts";
import { type DeclaredEffects, outsideText, termsOf, undeclaredText } from "./declared-effects.ts";
import { declareTool, type FrameworkTool } from "./framework-tool.ts";

/** A tool that is registered, or is about to be. */
interface Declaration {
  readonly terms: Json;
  readonly registered: Promise<void>;
}

/** The tools that frameworks declared in one engine. The sessions of an engine share them. */
export class FrameworkTools {
  static readonly #all = new WeakMap<Engine, FrameworkTools>();
  readonly #engine: Engine;
  readonly #declared = new Map<string, Declaration>();
  /** The tools that were printed. Each is printed once, not for each session. */
  readonly #printed = new Set<string>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  static of(engine: Engine): FrameworkTools {
    const known = FrameworkTools.#all.get(engine) ?? new FrameworkTools(engine);
    FrameworkTools.#all.set(engine, known);
    return known;
  }

  /** Registers the tools. Throws at once if one cannot be declared; resolves when their calls can be proposed. */
  add(tools: readonly FrameworkTool[], effects: DeclaredEffects, print: (text: string) => void): Promise<void> {
    const governed = tools.filter(({ outside }) => outside !== true);
    const declared = governed.map((tool) => this.#declare(tool, effects));
    this.#print(
      governed.filter(({ name, terms }) => terms === undefined && termsOf(effects, name) === null),
      undeclaredText,
      print,
    );
    this.#print(
      tools.filter(({ outside }) => outside === true),
      outsideText,
      print,
    );
    return Promise.all(declared).then(() => {});
  }

  #declare(tool: FrameworkTool, effects: DeclaredEffects): Promise<void> {
    const { name } = tool;
    const terms = outputAsPlainData(termsOf(effects, name) ?? tool.terms ?? {}).value;
    const known = this.#declared.get(name);
    if (known === undefined) {
      const registered = this.#engine.tools.put([declareTool(tool, effects)], { ifKnown: "refuse" });
      this.#declared.set(name, { terms, registered });
      registered.catch(() => this.#declared.delete(name)); // The calls of the tool report it.
      return registered;
    }
    if (sameJson(known.terms, terms)) return known.registered;
    const message = `${name} is declared with other effects by another session of this engine; declare the same for all`;
    throw new FaultError(fault("TOOL_INVALID", message));
  }

  #print(
    tools: readonly FrameworkTool[],
    text: (names: readonly string[]) => string,
    print: (text: string) => void,
  ): void {
    const names = tools.map(({ name }) => name).filter((name) => !this.#printed.has(name));
    if (names.length === 0) return;
    for (const name of names) this.#printed.add(name);
    print(text(names));
  }
}
