import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { PrincipalInput } from "../engine/api/principal-input.ts";
import type { ApiScope } from "../http-api/api-route.ts";
import type { Authenticator, Credential } from "./credential.ts";
import { httpLimits } from "./http-limits.ts";

/** The person of a browser, in a signed cookie. */
interface BrowserSession {
  readonly principal: PrincipalInput;
  readonly scopes: readonly ApiScope[];
  readonly session: string;
  readonly expires_at: number;
}

export interface BrowserLogin {
  /** The value of the cookie. */
  readonly cookie: string;
  readonly csrf: string;
  readonly maxAgeMs: number;
}

/**
 * Logs browsers in by links that can be used once. The cookie is signed with a secret that outlives the process; a
 * link is known only to the process that made it.
 */
export class BrowserLogins {
  readonly #secret: Uint8Array;
  readonly #now: () => number;
  readonly #links = new Map<string, Credential & { readonly expires_at: number }>();
  /** Sessions that were logged out and have not expired, with the time at which they expire. */
  readonly #loggedOut = new Map<string, number>();

  constructor(secret: Uint8Array, now: () => number) {
    this.#secret = secret;
    this.#now = now;
  }

  /** Returns the secret of a new link. */
  makeLink(credential: Credential): string {
    const link = randomBytes(32).toString("base64url");
    this.#links.set(link, { ...credential, expires_at: this.#now() + httpLimits.linkMs });
    return link;
  }

  /** Uses a link. Null: there is no such link, it was used, or it has expired. */
  useLink(link: string): BrowserLogin | null {
    const found = this.#links.get(link);
    this.#links.delete(link);
    if (found === undefined || found.expires_at <= this.#now()) return null;
    const session: BrowserSession = {
      principal: found.principal,
      scopes: found.scopes,
      session: randomBytes(16).toString("hex"),
      expires_at: this.#now() + httpLimits.browserSessionMs,
    };
    const body = Buffer.from(JSON.stringify(session)).toString("base64url");
    const cookie = `${body}.${this.#sign("session", body)}`;
    return { cookie, csrf: this.csrfOf(cookie), maxAgeMs: httpLimits.browserSessionMs };
  }

  /** Returns the CSRF token that belongs to a cookie. */
  csrfOf(cookie: string): string {
    return this.#sign("csrf", cookie);
  }

  isCsrfOf(cookie: string, token: string): boolean {
    return isEqual(this.csrfOf(cookie), token);
  }

  readonly authenticate: Authenticator = ({ cookie }) => {
    const session = this.#sessionOf(cookie);
    return session === null ? null : { principal: session.principal, scopes: session.scopes, isCookie: true };
  };

  /** Refuses the cookie from now on, for as long as this process lives. */
  logOut(cookie: string): void {
    const session = this.#sessionOf(cookie);
    if (session === null) return;
    for (const [id, expires_at] of this.#loggedOut) if (expires_at <= this.#now()) this.#loggedOut.delete(id);
    this.#loggedOut.set(session.session, session.expires_at);
  }

  /** Returns the session of a cookie, or null if the cookie is not valid. */
  #sessionOf(cookie: string | null): BrowserSession | null {
    const [body, signature] = (cookie ?? "").split(".");
    if (body === undefined || signature === undefined || !isEqual(this.#sign("session", body), signature)) return null;
    const session = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as BrowserSession;
    return session.expires_at <= this.#now() || this.#loggedOut.has(session.session) ? null : session;
  }

  #sign(use: string, text: string): string {
    return createHmac("sha256", this.#secret).update(`${use}:${text}`).digest("base64url");
  }
}

function isEqual(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
