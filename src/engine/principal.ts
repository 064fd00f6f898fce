import { FaultError, fault } from "../core/fault.ts";
import type { Tenant } from "../core/id.ts";
import type { Principal } from "../core/principal.ts";
import type { PrincipalInput } from "./api.ts";

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
  if (
    given.roles !== undefined &&
    !(Array.isArray(given.roles) && given.roles.every((role) => typeof role === "string"))
  ) {
    problems.push("roles must be a list of names");
  }
  return problems;
}
