import type { JsonObject } from "../../core/values/json.ts";
import type { PrincipalOptions, ReasonOptions } from "./request-options.ts";

/** The project or session that a tenant's policy applies to. Default: all of the tenant. */
export interface PolicyPlaceOptions {
  readonly project?: string;
  readonly session?: string;
}

/** Policies that a tenant has stored, in addition to those in the engine's options. Only a person can change them. */
export interface TenantPolicies {
  /** Stores a policy. It replaces a policy with the same name and scope. The scope must name the tenant. */
  set(document: unknown, options: ReasonOptions): Promise<void>;
  remove(name: string, options: ReasonOptions & PolicyPlaceOptions): Promise<void>;
  list(options: PrincipalOptions): Promise<readonly JsonObject[]>;
}
