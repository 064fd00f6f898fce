import type { Tenant } from "./id.ts";
import type { JsonObject } from "./json/json.ts";
import type { Touches } from "./state/state-order.ts";

/** Who asks. Only a person decides a gate; an agent never does. */
export interface Principal {
  readonly id: string;
  readonly kind: "agent" | "person" | "service";
  readonly tenant: Tenant;
  readonly roles?: readonly string[];
  readonly claims?: JsonObject;
  /** What it may do: what all of these let it. Absent: whatever the rules let anyone. */
  readonly capabilities?: readonly Capability[];
}

/** A part of what may be done. Another one beside it can only take away. */
export interface Capability {
  /** By name, in which * stands for anything. What is denied is denied, though it is allowed, too. */
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  /** How many steps of a run may call a tool: the first so many. */
  readonly max_actions?: number;
  /** Where in state its calls may look and change things, as JSON pointers: a slice, an entry, a place inside one. Absent: anywhere. */
  readonly state_reads?: readonly string[];
  /** What may be changed may be looked at. */
  readonly state_writes?: readonly string[];
}

/** The places of state that a principal is held to: all of these have to let it. */
export function stateBounds({ capabilities = [] }: Pick<Principal, "capabilities">): readonly Touches[] {
  return capabilities
    .filter(({ state_reads, state_writes }) => state_reads !== undefined || state_writes !== undefined)
    .map(({ state_reads = null, state_writes = null }) => ({ state_reads, state_writes }));
}

/** The same principal with less in its hands, for whoever acts in its name. */
export function attenuated<Who extends Pick<Principal, "capabilities">>(principal: Who, capability: Capability): Who {
  return { ...principal, capabilities: [...(principal.capabilities ?? []), capability] };
}
