import { checkJson } from "../core/check-json.ts";
import { FaultError, fault } from "../core/fault.ts";
import type { Tenant } from "../core/id.ts";
import { isPlainObject } from "../core/plain-object.ts";
import type { Principal } from "../core/principal.ts";
import type { PrincipalInput } from "./api.ts";

/** They are recorded with every run and every decision. */
const claimLimits = { bytes: 16 * 1024, depth: 16, nodes: 1000 };

const NAME = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/** A text that can be a key, be stored, and be printed on one line. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

/** Reads who asks. A principal that cannot be believed is refused before anything else happens. */
export function principalOf(given: PrincipalInput | undefined): Principal {
  const problems = problemsOf(given);
  if (given === undefined || problems.length > 0) {
    const message = `this principal cannot be used: ${problems.join("; ")}; pass { id, kind: "agent" | "person" | "service", tenant }`;
    throw new FaultError(fault("AUTH_FORBIDDEN", message));
  }
  const { id, kind, tenant, roles, claims } = given;
  return { id, kind, tenant: tenant as Tenant, ...(roles && { roles: [...roles] }), ...(claims && { claims }) };
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
  return problems;
}
