import { FaultError, fault } from "../core/values/fault.ts";
import type { PrincipalInput } from "../engine/api/principal-input.ts";
import type { ApiScope } from "../http-api/api-route.ts";

/** A checked credential: who sends the request, and which routes it may use. */
export interface Credential {
  readonly principal: PrincipalInput;
  readonly scopes: readonly ApiScope[];
  /** True: a browser sends it by itself, so a request that changes something needs the CSRF header. */
  readonly isCookie?: true;
}

/** The parts of a request that can hold a credential. */
export interface PresentedCredential {
  readonly bearer: string | null;
  readonly cookie: string | null;
}

/** Returns the credential that the request presents, or null if this way of authentication does not know it. */
export type Authenticator = (presented: PresentedCredential) => Credential | null | Promise<Credential | null>;

/** Throws AUTH_FORBIDDEN if the scopes do not fit the principal: an agent never decides, and never administers. */
export function assertScopesFit({ kind, id }: Pick<PrincipalInput, "kind" | "id">, scopes: readonly ApiScope[]): void {
  const refused = scopes.find((scope) => kind === "agent" && (scope === "decide" || scope === "admin"));
  if (refused === undefined) return;
  throw new FaultError(fault("AUTH_FORBIDDEN", `${id} is an agent, and no agent has the scope ${refused}`));
}
