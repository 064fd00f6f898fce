import type { Principal } from "../../core/approval/principal.ts";
import { checkJson } from "../../core/json/check-json.ts";
import { isPlainObject } from "../../core/json/plain-object.ts";
import { isStatePointer } from "../../core/state/state-access-order.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Tenant } from "../../core/values/ids.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import type { PrincipalInput } from "./principal-input.ts";

/** Claims are recorded with every run and decision, so they are small. */
const claimLimits = { bytes: 16 * 1024, depth: 16, nodes: 1000 };

/** Throws INVALID_INPUT unless the value can be a name. */
export function assertName(value: unknown, what: string): asserts value is string {
  if (!isName(value)) throw new FaultError(fault("INVALID_INPUT", `${what} must be ${nameRule}`));
}

/** Reads and copies a principal. Throws AUTH_FORBIDDEN if a field is invalid. */
export function readPrincipal(given: PrincipalInput | undefined): Principal {
  const problems = principalProblems(given);
  if (given === undefined || problems.length > 0) {
    const message = `the principal is invalid: ${problems.join("; ")}; pass { id, kind: "agent" | "person" | "service", tenant }`;
    throw new FaultError(fault("AUTH_FORBIDDEN", message));
  }
  const { id, kind, tenant, roles, claims, capabilities } = given;
  return {
    id,
    kind,
    tenant: tenant as Tenant,
    ...(roles && { roles: [...roles] }),
    // Copies: the caller may change its objects later.
    ...(claims && { claims: structuredClone(claims) }),
    ...(capabilities && { capabilities: structuredClone(capabilities) }),
  };
}

function principalProblems(given: PrincipalInput | undefined): readonly string[] {
  if (given === undefined || given === null) return ["it is missing"];
  if (typeof given !== "object") return [`it is the ${typeof given} ${JSON.stringify(String(given).slice(0, 100))}`];
  const problems: string[] = [];
  if (!isName(given.id)) problems.push(`id must be ${nameRule}`);
  if (!isName(given.tenant)) problems.push(`tenant must be ${nameRule}`);
  if (!["agent", "person", "service"].includes(given.kind)) problems.push("kind must be agent, person or service");
  const { roles = [], claims = {} } = given;
  if (!(Array.isArray(roles) && roles.every(isName))) problems.push("roles must be a list of names");
  if (!isPlainObject(claims) || !checkJson(claims, claimLimits).ok) problems.push("claims must be a small JSON object");
  if (!areCapabilities(given.capabilities ?? []))
    problems.push("capabilities must be a list of { tools: { allow, deny }, max_actions, state_reads, state_writes }");
  return problems;
}

const knownCapabilityFields = ["tools", "max_actions", "state_reads", "state_writes"];

/** Refuses unknown fields: a misspelt limit would limit nothing. */
function areCapabilities(given: unknown): boolean {
  if (!Array.isArray(given) || !checkJson(given, claimLimits).ok) return false;
  return given.every((capability: unknown) => {
    if (!isPlainObject(capability) || !hasOnlyFields(capability, knownCapabilityFields)) return false;
    const { tools = {}, max_actions = 0, state_reads = [], state_writes = [] } = capability;
    if (![state_reads, state_writes].every(areStatePointers)) return false;
    const isCount = Number.isSafeInteger(max_actions) && Number(max_actions) >= 0;
    return (
      isCount && isPlainObject(tools) && hasOnlyFields(tools, ["allow", "deny"]) && Object.values(tools).every(areNames)
    );
  });
}

function hasOnlyFields(object: object, names: readonly string[]): boolean {
  return Object.keys(object).every((name) => names.includes(name));
}

function areStatePointers(list: unknown): boolean {
  return Array.isArray(list) && list.every((place) => typeof place === "string" && isStatePointer(place));
}

function areNames(list: unknown): boolean {
  return Array.isArray(list) && list.every(isName);
}
