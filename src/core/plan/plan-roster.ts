import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { nearest } from "../json/nearest.ts";
import type { Reasons } from "../json/reasons.ts";
import type { Tool } from "../tool.ts";

/** The tools a plan may name. */
export interface KnownTools {
  get(name: string): Tool | undefined;
  all(): readonly Tool[];
}

/** One step as the others see it, before it has been read in full. */
export interface Member {
  readonly at: number;
  /** Null for a step that calls no tool or an unknown one. */
  readonly tool: Tool | null;
  /** Whether it will have an output that can be bound or judged. */
  readonly speaks: boolean;
}

/** Everything that reading one step of a plan needs to know about the rest. */
export interface Roster {
  readonly members: ReadonlyMap<string, Member>;
  readonly tools: KnownTools;
  readonly context: JsonObject;
  readonly strict: boolean;
  readonly reasons: Reasons;
  readonly warnings: Reasons;
}

/** Steps of these kinds call a tool that an engine with slices has by itself. */
export const stateTools = { state_read: "state.read", state_write: "state.write" } as const;

/** The tool that a step calls, as far as can be told before it is read; null: it calls none. */
export function toolNameIn({ kind = "operator", name = null }: JsonObject): Json {
  if (kind === "state_read" || kind === "state_write") return stateTools[kind];
  return kind === "operator" ? name : null;
}

export const stepId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Who is in the plan, by id. Of two with the same id the first counts; the other is refused where it stands. */
export function membersOf(steps: readonly Json[], tools: KnownTools): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>();
  for (const [at, step] of steps.entries()) {
    if (!isObject(step) || typeof step.step_id !== "string" || members.has(step.step_id)) continue;
    const named = toolNameIn(step);
    const calls = named !== null || (step.kind ?? "operator") === "operator";
    const speaks = calls || step.kind === "run" || isAboutSignal(step);
    const tool = typeof named === "string" ? (tools.get(named) ?? null) : null;
    members.set(step.step_id, { at, tool, speaks });
  }
  return members;
}

/** A wait for a signal has an output: what was sent. */
function isAboutSignal({ kind, payload, bindings }: JsonObject): boolean {
  if (kind !== "wait") return false;
  return [payload, bindings].some((part) => isObject(part) && ("signal" in part || "/signal" in part));
}

const suggestAmong = 100;

/** What to say of a name that nobody has. Looking for the one that was meant is for plans of human size. */
export function unknownName(what: string, name: string, names: readonly string[]): string {
  if (names.length > suggestAmong) return `no ${what} has the name ${name}`;
  const meant = nearest(name, names);
  if (meant !== null) return `no ${what} has the name ${name}; did you mean ${meant}?`;
  return names.length === 0
    ? `there is no ${what} at all`
    : `no ${what} has the name ${name}; there are ${names.join(", ")}`;
}
