import { nearestName } from "../json/nearest-name.ts";
import type { ProblemList } from "../json/problem-list.ts";
import type { Tool } from "../tool/tool.ts";
import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";
import { isPlanStepKind, stepKinds } from "./step-kinds.ts";

/** The tools a plan may name. */
export interface KnownTools {
  get(name: string): Tool | undefined;
  all(): readonly Tool[];
}

/** The facts about a step that other steps need, known before the step is checked. */
export interface PlanMember {
  readonly at: number;
  /** Null for a step that calls no tool or an unknown one. */
  readonly tool: Tool | null;
  /** True if it will have an output that bindings and conditions can use. */
  readonly hasOutput: boolean;
}

/** The data about the whole plan that checking one step needs. */
export interface PlanContext {
  readonly members: ReadonlyMap<string, PlanMember>;
  readonly tools: KnownTools;
  readonly context: JsonObject;
  readonly strict: boolean;
  /** True if the plan is rolled back as a whole. */
  readonly atomic: boolean;
  readonly reasons: ProblemList;
  readonly warnings: ProblemList;
}

/** The built-in tools, of an engine with slices, that steps of these kinds call. */
export const stateTools = { state_read: "state.read", state_write: "state.write" } as const;

/** Returns the name of the tool that an unchecked step calls; null: it calls none. */
export function stepToolName({ kind = "operator", name = null }: JsonObject): Json {
  if (kind === "state_read" || kind === "state_write") return stateTools[kind];
  return isPlanStepKind(kind) && stepKinds[kind].callsTool ? name : null;
}

export const stepIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Returns the steps of the plan by id. Of two with the same id the first counts; the other is refused. */
export function planMembers(steps: readonly Json[], tools: KnownTools): ReadonlyMap<string, PlanMember> {
  const members = new Map<string, PlanMember>();
  for (const [at, step] of steps.entries()) {
    if (!isJsonObject(step) || typeof step.step_id !== "string" || members.has(step.step_id)) continue;
    const toolName = stepToolName(step);
    const tool = typeof toolName === "string" ? (tools.get(toolName) ?? null) : null;
    members.set(step.step_id, { at, tool, hasOutput: hasOutput(step) });
  }
  return members;
}

/** True if an unchecked step will have an output. */
function hasOutput(step: JsonObject): boolean {
  const kind = step.kind ?? "operator";
  if (!isPlanStepKind(kind)) return stepToolName(step) !== null;
  const { output } = stepKinds[kind];
  return output === "always" || (output === "with_signal" && awaitsSignalInPlan(step));
}

/** True if a step waits for a signal; its output is the payload of the signal. */
function awaitsSignalInPlan({ payload, bindings }: JsonObject): boolean {
  return [payload, bindings].some((part) => isJsonObject(part) && ("signal" in part || "/signal" in part));
}

const SUGGESTION_POOL_MAX = 100;

/** Returns the message for an unknown name. It suggests a name only if there are few. */
export function unknownNameProblem(what: string, name: string, names: readonly string[]): string {
  if (names.length > SUGGESTION_POOL_MAX) return `no ${what} has the name ${name}`;
  const nearest = nearestName(name, names);
  if (nearest !== null) return `no ${what} has the name ${name}; did you mean ${nearest}?`;
  return names.length === 0
    ? `there is no ${what} at all`
    : `no ${what} has the name ${name}; there are ${names.join(", ")}`;
}
