import type { StateAccess } from "../state/state-access-order.ts";
import type { Tenant } from "../values/ids.ts";
import type { JsonObject } from "../values/json.ts";
import { NamePattern } from "./name-pattern.ts";

/** The requester. Only a person decides a gate; an agent never does. */
export interface Principal {
  readonly id: string;
  readonly kind: "agent" | "person" | "service";
  readonly tenant: Tenant;
  readonly roles?: readonly string[];
  readonly claims?: JsonObject;
  /** A request must be allowed by all of these. Absent: not restricted beyond the rules. */
  readonly capabilities?: readonly Capability[];
}

/** A restriction of a principal. A further capability can only restrict it more. */
export interface Capability {
  /** Patterns of tool names, in which * matches anything. `deny` wins over `allow`. */
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  /** The maximum number of steps of a run that may call a tool; later steps are refused. */
  readonly max_actions?: number;
  /** JSON pointers to the state that its calls may read: a slice, an entry or a value inside one. Absent: all state. */
  readonly state_reads?: readonly string[];
  /** JSON pointers to the state that its calls may change, and therefore also read. */
  readonly state_writes?: readonly string[];
}

/** True if the capability allows the tool with this name. */
export function allowsTool(capability: Capability, name: string): boolean {
  return toolProblem(capability, name) === null;
}

/** Returns why the capability does not allow the tool, or null. */
export function toolProblem({ tools = {} }: Capability, name: string): string | null {
  if (matchesAny(tools.deny ?? [], name)) return `${name} is denied to it`;
  if (tools.allow !== undefined && !matchesAny(tools.allow, name)) return `${name} is not in its list of allowed tools`;
  return null;
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => new NamePattern(pattern).matches(name));
}

/** Returns the restrictions of a principal on state; an access must be allowed by all of them. */
export function stateBounds({ capabilities = [] }: Pick<Principal, "capabilities">): readonly StateAccess[] {
  return capabilities
    .filter(({ state_reads, state_writes }) => state_reads !== undefined || state_writes !== undefined)
    .map(({ state_reads = null, state_writes = null }) => ({ state_reads, state_writes }));
}

/** Returns the principal with a further restriction, for a caller that acts in its name. */
export function attenuate<Who extends Pick<Principal, "capabilities">>(principal: Who, capability: Capability): Who {
  return { ...principal, capabilities: [...(principal.capabilities ?? []), capability] };
}
