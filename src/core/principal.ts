import type { Tenant } from "./id.ts";
import type { JsonObject } from "./json.ts";

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
}

/** The same principal with less in its hands, for whoever acts in its name. */
export function attenuated<Who extends Pick<Principal, "capabilities">>(principal: Who, capability: Capability): Who {
  return { ...principal, capabilities: [...(principal.capabilities ?? []), capability] };
}
