import { FaultError, fault } from "../core/fault.ts";
import type { Tenant } from "../core/id.ts";
import { checkJson } from "../core/json/check-json.ts";
import { isPlainObject } from "../core/json/plain-object.ts";
import type { Principal } from "../core/principal.ts";
import { isPlaceOfState } from "../core/state/state-order.ts";
import type { PrincipalInput } from "./asking.ts";

/** They are recorded with every run and every decision. */
const claimLimits = { bytes: 16 * 1024, depth: 16, nodes: 1000 };

const NAME = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/** A text that can be a key, be stored, and be printed on one line. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

/** Refuses what cannot be the name of anything, before a store is asked for it. */
export function assertName(value: unknown, what: string): asserts value is string {
  if (!isName(value)) throw new FaultError(fault("INVALID_INPUT", `${what} must be 1 to 200 printable characters`));
}

/** Reads who asks. A principal that cannot be believed is refused before anything else happens. */
export function principalOf(given: PrincipalInput | undefined): Principal {
  const problems = problemsOf(given);
  if (given === undefined || problems.length > 0) {
    const message = `this principal cannot be used: ${problems.join("; ")}; pass { id, kind: "agent" | "person" | "service", tenant }`;
    throw new FaultError(fault("AUTH_FORBIDDEN", message));
  }
  const { id, kind, tenant, roles, claims, capabilities } = given;
  return {
    id,
    kind,
    tenant: tenant as Tenant,
    ...(roles && { roles: [...roles] }),
    // Copies: what was judged is what is kept, though whoever passed it goes on writing in it.
    ...(claims && { claims: structuredClone(claims) }),
    ...(capabilities && { capabilities: structuredClone(capabilities) }),
  };
}

function problemsOf(given: PrincipalInput | undefined): readonly string[] {
  if (typeof given !== "object" || given === null) return ["there is none"];
  const problems: string[] = [];
  if (!isName(given.id)) problems.push("id must be 1 to 200 printable characters");
  if (!isName(given.tenant)) problems.push("tenant must be 1 to 200 printable characters");
  if (!["agent", "person", "service"].includes(given.kind)) problems.push("kind must be agent, person or service");
  const { roles = [], claims = {} } = given;
  if (!(Array.isArray(roles) && roles.every(isName))) problems.push("roles must be a list of names");
  if (!isPlainObject(claims) || !checkJson(claims, claimLimits).ok) problems.push("claims must be a small JSON object");
  if (!areCapabilities(given.capabilities ?? []))
    problems.push("capabilities must be a list of { tools: { allow, deny }, max_actions, state_reads, state_writes }");
  return problems;
}

const known = ["tools", "max_actions", "state_reads", "state_writes"];

/** One that is misspelt would let everything pass that it is there to keep back. */
function areCapabilities(given: unknown): boolean {
  if (!Array.isArray(given) || !checkJson(given, claimLimits).ok) return false;
  return given.every((capability: unknown) => {
    if (!isPlainObject(capability) || !hasOnly(capability, known)) return false;
    const { tools = {}, max_actions = 0, state_reads = [], state_writes = [] } = capability;
    if (![state_reads, state_writes].every(arePlaces)) return false;
    const isCount = Number.isSafeInteger(max_actions) && Number(max_actions) >= 0;
    return isCount && isPlainObject(tools) && hasOnly(tools, ["allow", "deny"]) && Object.values(tools).every(areNames);
  });
}

function hasOnly(object: object, names: readonly string[]): boolean {
  return Object.keys(object).every((name) => names.includes(name));
}

function arePlaces(list: unknown): boolean {
  return Array.isArray(list) && list.every((place) => typeof place === "string" && isPlaceOfState(place));
}

function areNames(list: unknown): boolean {
  return Array.isArray(list) && list.every(isName);
}
