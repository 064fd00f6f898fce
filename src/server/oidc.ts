import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { FaultError, fault } from "../core/values/fault.ts";
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

/** Limits on the documents of an issuer. After a failure, it is asked again after `pauseMs`. */
const issuerLimits = { timeoutMs: 5000, pauseMs: 1000, bytes: 256 * 1024 };

/** Authenticates people by the signed tokens of an issuer. Throws DEPENDENCY_UNAVAILABLE while its keys are out of reach. */
export async function oidc(
  options: OidcOptions,
  now: () => number,
  { timeoutMs, pauseMs, bytes }: typeof issuerLimits = issuerLimits,
): Promise<Authenticator> {
  const jose = await import("jose");
  let keys: Promise<JWTVerifyGetKey> | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  const isPaused = () => Math.abs(now() - failedAt) < pauseMs;
  const read: typeof fetch = async (url, init) => {
    try {
      if (isPaused()) throw new Error("the issuer failed a moment ago");
      return await readDocument(url, { ...init, signal: AbortSignal.timeout(timeoutMs) }, bytes);
    } catch (error) {
      if (!isPaused()) failedAt = now();
      throw issuerUnavailable(error);
    }
  };
  const findKeys = async (): Promise<JWTVerifyGetKey> => {
    const address = `${options.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const { jwks_uri, issuer } = (await (await read(address)).json()) as Readonly<Record<string, string>>;
    if (issuer !== options.issuer || !URL.canParse(jwks_uri ?? ""))
      throw issuerUnavailable(new Error(`${address} is not the document of the issuer`));
    // Reads the keys again when a token names an unknown one, so that the issuer can rotate them.
    return jose.createRemoteJWKSet(new URL(jwks_uri ?? ""), { cooldownDuration: 1000, [jose.customFetch]: read });
  };
  return async ({ bearer }) => {
    if (bearer === null || bearer.split(".").length !== 3) return null;
    try {
      // Any other token is refused without asking the issuer.
      if (jose.decodeJwt(bearer).iss !== options.issuer) return null;
      keys ??= findKeys();
      const known = await keys.catch((error: unknown) => {
        keys = null; // Keys that were found stay, also if the issuer does not answer about an unknown one.
        throw error;
      });
      const { payload } = await jose.jwtVerify(bearer, known, {
        issuer: options.issuer,
        audience: options.audience,
        algorithms,
        clockTolerance: TOLERANCE_S,
        currentDate: new Date(now()),
        requiredClaims: ["exp", "sub"],
      });
      return credentialOf(payload, options);
    } catch (error) {
      if (error instanceof jose.errors.JOSEError) return null;
      if (error instanceof FaultError) throw error;
      return null;
    }
  };
}

/** Reads a JSON document of limited size. Redirects are not followed. */
async function readDocument(url: string | URL | Request, init: RequestInit, bytes: number): Promise<Response> {
  const answer = await fetch(url, { ...init, redirect: "error" });
  if (answer.status !== 200) throw new Error(`the issuer answered with ${answer.status}`);
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of answer.body ?? []) {
    text += decoder.decode(part, { stream: true });
    if (text.length > bytes) throw new Error(`a document of the issuer is larger than ${bytes} bytes`);
  }
  JSON.parse(text);
  return new Response(text);
}

function issuerUnavailable(cause: unknown): FaultError {
  const message = "the issuer of the token does not answer with its keys, so the token cannot be checked";
  return new FaultError(fault("DEPENDENCY_UNAVAILABLE", message), { cause });
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
