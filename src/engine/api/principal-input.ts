import type { Capability, Principal } from "../../core/approval/principal.ts";
import type { JsonObject } from "../../core/values/json.ts";

/** The principal as a caller writes it: plain strings, without branded types. */
export interface PrincipalInput {
  readonly id: string;
  readonly kind: Principal["kind"];
  readonly tenant: string;
  readonly roles?: readonly string[];
  readonly claims?: JsonObject;
  /** Limits on what the principal may do. All of them must allow a call. */
  readonly capabilities?: readonly Capability[];
}

export type PrincipalDetails = Pick<PrincipalInput, "roles" | "claims" | "capabilities">;

/** Makes the principal of an agent. */
export function agent(id: string, tenant: string, details: PrincipalDetails = {}): PrincipalInput {
  return { id, kind: "agent", tenant, ...details };
}

/** Makes the principal of a person. Only a person decides gates. */
export function person(id: string, tenant: string, details: PrincipalDetails = {}): PrincipalInput {
  return { id, kind: "person", tenant, ...details };
}

/** Makes the principal of a service. */
export function service(id: string, tenant: string, details: PrincipalDetails = {}): PrincipalInput {
  return { id, kind: "service", tenant, ...details };
}
