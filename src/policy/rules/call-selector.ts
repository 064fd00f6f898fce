import type { NamePattern } from "../../core/approval/name-pattern.ts";
import type { Principal } from "../../core/approval/principal.ts";
import { isJudgedByName } from "../../core/approval/verb-rules.ts";
import type { ToolFacts } from "../../core/call/proposal.ts";
import type { FieldReader } from "../../core/json/field-reader.ts";
import { type Effect, effectTags } from "../../core/values/effect.ts";
import type { RuleFieldReader } from "./rule-field-reader.ts";
import type { RuleInput } from "./rule-input.ts";

/** Selects the calls that a rule applies to. A call must match one item of every list; an absent list matches all. */
export class CallSelector {
  readonly #tools: readonly NamePattern[] | null;
  readonly #effects: readonly Effect[] | null;
  readonly #tags: readonly string[] | null;
  readonly #risks: readonly ToolFacts["risk"][] | null;
  readonly #roles: readonly string[] | null;
  readonly #principals: readonly Principal["kind"][] | null;
  readonly #causes: readonly RuleInput["cause"][] | null;

  constructor(fields: FieldReader, reader: RuleFieldReader) {
    fields.refuseUnknown(["tools", "effects", "tags", "risks", "roles", "principals", "causes"]);
    this.#tools = reader.namePatterns(fields, "tools");
    const named = reader.choices(fields, "effects", Object.keys(effectTags));
    this.#effects = named?.map((name) => effectTags[name] as Effect) ?? null;
    this.#tags = reader.words(fields, "tags");
    this.#risks = reader.choices(fields, "risks", riskLevels);
    this.#roles = reader.roles(fields, "roles");
    this.#principals = reader.choices(fields, "principals", ["agent", "person", "service"]);
    this.#causes = reader.choices(fields, "causes", ["plan", "agent", "errand", "replan", "undo"]);
  }

  /** True if the rule can apply to calls of this tool; the same for all its calls. */
  matchesTool({ name, risk }: ToolFacts): boolean {
    return this.#matchesName(name) && (this.#risks?.includes(risk) ?? true);
  }

  #matchesName(name: string): boolean {
    if (isJudgedByName(name))
      return this.#tools?.some((pattern) => !pattern.matchesAll && pattern.matches(name)) ?? false;
    return this.#tools?.some((pattern) => pattern.matches(name)) ?? true;
  }

  /** True if the rule applies to this call, given that `matchesTool` is true. */
  matchesCall({ effect, tags, principal, cause }: RuleInput): boolean {
    return (
      (this.#effects?.includes(effect) ?? true) &&
      (this.#tags?.some((tag) => tags.includes(tag)) ?? true) &&
      (this.#roles?.some((role) => principal.roles?.includes(role)) ?? true) &&
      (this.#principals?.includes(principal.kind) ?? true) &&
      (this.#causes ?? defaultCauses).includes(cause)
    );
  }
}

/** A person requests an undo, and it has another input: a rule applies to undos only if it lists them. */
const defaultCauses: readonly RuleInput["cause"][] = ["plan", "agent", "errand", "replan"];

export const riskLevels: readonly ToolFacts["risk"][] = ["low", "medium", "high"];
