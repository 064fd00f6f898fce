import { type Effect, effectTags } from "../core/effect.ts";
import type { Fields } from "../core/json/fields.ts";
import type { Principal } from "../core/principal.ts";
import type { ToolFacts } from "../core/proposal.ts";
import type { Case } from "./case.ts";
import type { Glob } from "./glob.ts";
import type { Reader } from "./reader.ts";

/** Which calls a rule is for. Of each list one has to fit, of the lists all; what is left out fits everything. */
export class Selector {
  readonly #tools: readonly Glob[] | null;
  readonly #effects: readonly Effect[] | null;
  readonly #tags: readonly string[] | null;
  readonly #risks: readonly ToolFacts["risk"][] | null;
  readonly #roles: readonly string[] | null;
  readonly #principals: readonly Principal["kind"][] | null;
  readonly #causes: readonly Case["cause"][] | null;

  constructor(fields: Fields, reader: Reader) {
    fields.onlyKnown(["tools", "effects", "tags", "risks", "roles", "principals", "causes"]);
    this.#tools = reader.globs(fields, "tools");
    const named = reader.choices(fields, "effects", Object.keys(effectTags));
    this.#effects = named?.map((name) => effectTags[name] as Effect) ?? null;
    this.#tags = reader.words(fields, "tags");
    this.#risks = reader.choices(fields, "risks", risks);
    this.#roles = reader.roles(fields, "roles");
    this.#principals = reader.choices(fields, "principals", ["agent", "person", "service"]);
    this.#causes = reader.choices(fields, "causes", ["plan", "agent", "errand", "undo"]);
  }

  /** Whether it is for the tool at all: known once for all its calls. */
  fitsTool({ name, risk }: ToolFacts): boolean {
    return (this.#tools?.some((glob) => glob.matches(name)) ?? true) && (this.#risks?.includes(risk) ?? true);
  }

  /** Whether it is for a call of a tool that it is for. */
  fitsCall({ effect, tags, principal, cause }: Case): boolean {
    return (
      (this.#effects?.includes(effect) ?? true) &&
      (this.#tags?.some((tag) => tags.includes(tag)) ?? true) &&
      (this.#roles?.some((role) => principal.roles?.includes(role)) ?? true) &&
      (this.#principals?.includes(principal.kind) ?? true) &&
      (this.#causes ?? DOINGS).includes(cause)
    );
  }
}

/** An undo is asked for by a person and takes another input: a rule is for one only if it says so. */
const DOINGS: readonly Case["cause"][] = ["plan", "agent", "errand"];

export const risks: readonly ToolFacts["risk"][] = ["low", "medium", "high"];
