import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { isName } from "../core/values/is-name.ts";
import { type ApiScope, scopes } from "../http-api/api-route.ts";
import type { Authenticator, Credential } from "./credential.ts";

/** An issuer of tokens for people, by OpenID Connect. */
export interface OidcOptions {
  /** The issuer, as the tokens name it. Its keys are found by its discovery document. */
  readonly issuer: string;
  readonly audience: string;
  /** The claim that names the tenant. Default: `tenant`. */
  readonly tenantClaim?: string;
  /** The claim that lists the roles. Default: `roles`. */
  readonly rolesClaim?: string;
  /** The scopes of each role. A person whose roles have none may only read. */
  readonly roleScopes?: Readonly<Record<string, readonly ApiScope[]>>;
}

/** Only asymmetric signatures: the key of the issuer verifies tokens, and cannot make them. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

/** Clocks of an issuer and a server differ by a few seconds. */
const TOLERANCE_S = 5;

/** Authenticates people by the signed tokens of an issuer. */
export async function oidc(options: OidcOptions, now: () => number): Promise<Authenticator> {
  const jose = await import("jose");
  let keys: Promise<JWTVerifyGetKey> | null = null;
  const findKeys = async (): Promise<JWTVerifyGetKey> => {
    const address = `${options.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const answer = await fetch(address, { signal: AbortSignal.timeout(5000), redirect: "error" });
    const { jwks_uri, issuer } = (await answer.json()) as { readonly jwks_uri: string; readonly issuer: string };
    if (issuer !== options.issuer) throw new Error(`${address} is the document of another issuer`);
    // Reads the keys again when a token names an unknown one, so that the issuer can rotate them.
    return jose.createRemoteJWKSet(new URL(jwks_uri), { cooldownDuration: 1000 });
  };
  return async ({ bearer }) => {
    if (bearer === null || bearer.split(".").length !== 3) return null;
    keys ??= findKeys();
    try {
      const { payload } = await jose.jwtVerify(bearer, await keys, {
        issuer: options.issuer,
        audience: options.audience,
        algorithms,
        clockTolerance: TOLERANCE_S,
        currentDate: new Date(now()),
        requiredClaims: ["exp", "sub"],
      });
      return credentialOf(payload, options);
    } catch (error) {
      if (!(error instanceof jose.errors.JOSEError)) keys = null;
      return null;
    }
  };
}

/** Returns the person of verified claims. Null: the claims name no tenant, or no valid one. */
function credentialOf(claims: JWTPayload, options: OidcOptions): Credential | null {
  const { tenantClaim = "tenant", rolesClaim = "roles", roleScopes = {} } = options;
  const tenant = claims[tenantClaim];
  if (!isName(tenant) || !isName(claims.sub)) return null;
  const given = claims[rolesClaim];
  const roles = Array.isArray(given) ? given.filter(isName) : [];
  const granted = new Set<ApiScope>([
    "read",
    ...roles.flatMap((role) => (Object.hasOwn(roleScopes, role) ? (roleScopes[role] ?? []) : [])),
  ]);
  return {
    principal: { id: claims.sub, kind: "person", tenant, roles },
    scopes: scopes.filter((scope) => granted.has(scope)),
  };
}
