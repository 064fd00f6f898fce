import { randomUUID } from "node:crypto";
import { type Context, Hono } from "hono";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Engine } from "../engine/api/engine-api.ts";
import { assertRequestAllowed, type ServerAddresses } from "./assert-request-allowed.ts";
import type { BrowserLogins } from "./browser-logins.ts";
import type { Authenticator, Credential, PresentedCredential } from "./credential.ts";
import { FailedLogins } from "./failed-logins.ts";
import { HttpFault, type Problem, problemOf } from "./problem.ts";
import { RequestReader } from "./request-input.ts";
import { makeRouteTable } from "./route-table.ts";
import type { RouteAnswer, RouteCall, ServerRoute } from "./server-route.ts";
import { ServerSessions } from "./server-sessions.ts";
import { startPage, startStyle } from "./start-page.ts";
import { startScript } from "./start-script.ts";

export interface ApiAppOptions {
  readonly engine: Engine;
  /** Ways of authentication, in order. The first that knows the credential decides. */
  readonly authenticators: readonly Authenticator[];
  /** Logs browsers in by links. Null: no browser can log in. */
  readonly browsers: BrowserLogins | null;
  /** The addresses of the server. They are known once it listens. */
  readonly addresses: () => ServerAddresses;
  /** Aborts when the server stops: waits and streams end. */
  readonly stopping: AbortSignal;
  readonly isReady: () => Promise<boolean>;
  readonly metrics: () => string;
  readonly now: () => number;
  /** Receives errors that are bugs, with the id of their request. */
  readonly onBug: (error: unknown, requestId: string) => void;
}

const cookieName = "writ_session";
const csrfHeader = "x-writ-csrf";

/** Headers of every answer. The server has no pages that may be framed, sniffed or cached. */
const commonHeaders = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** Makes the web application of a server from its route table. */
export function apiApp(options: ApiAppOptions): Hono {
  const app = new Hono();
  const sessions = new ServerSessions(options.engine, options.stopping);
  const failed = new FailedLogins(options.now);
  for (const route of makeRouteTable()) {
    const reader = new RequestReader(route);
    const path = route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    app.on(route.method, path, (context) =>
      answered(options, context, async () => {
        const { credential, presented } = await admitted(options, failed, context, route);
        const { raw } = context.req;
        const call: RouteCall = {
          engine: options.engine,
          credential,
          principal: credential.principal,
          input: await reader.read(raw, context.req.param() as Readonly<Record<string, string>>),
          requestKey: route.hasRequestKey ? (raw.headers.get("idempotency-key") ?? null) : null,
          lastEventId: raw.headers.get("last-event-id"),
          get signal() {
            return AbortSignal.any([raw.signal, options.stopping]);
          },
          sessions,
          authenticateAgain: () => authenticate(options.authenticators, presented),
        };
        return toResponse(await route.handler(call), raw);
      }),
    );
  }
  addOpenRoutes(app, options, failed);
  app.notFound((context) =>
    answered(options, context, async () => {
      throw new FaultError(fault("ROUTE_NOT_FOUND", "there is no such route; GET /v1/openapi.json lists all"));
    }),
  );
  return app;
}

/** Routes that need no credential: health, metrics, and the page that exchanges a link for a cookie. */
function addOpenRoutes(app: Hono, options: ApiAppOptions, failed: FailedLogins): void {
  const text = (body: string, status = 200, type = "text/plain; charset=utf-8") =>
    new Response(body, { status, headers: { "content-type": type } });
  for (const path of ["/", "/runs/:id", "/gates/:id"])
    app.get(path, (context) =>
      answered(options, context, async () => text(startPage, 200, "text/html; charset=utf-8")),
    );
  app.get("/start.css", (context) =>
    answered(options, context, async () => text(startStyle, 200, "text/css; charset=utf-8")),
  );
  app.get("/start.js", (context) =>
    answered(options, context, async () => text(startScript, 200, "text/javascript; charset=utf-8")),
  );
  app.get("/healthz", (context) => answered(options, context, async () => text("ok\n")));
  app.get("/readyz", (context) =>
    answered(options, context, async () => {
      const ready = await options.isReady().catch(() => false);
      return text(ready ? "ready\n" : "not ready\n", ready ? 200 : 503);
    }),
  );
  app.get("/metrics", (context) =>
    answered(options, context, async () => text(options.metrics(), 200, "text/plain; version=0.0.4; charset=utf-8")),
  );
  app.post("/v1/login", (context) => answered(options, context, () => logIn(options, failed, context)));
  app.post("/v1/logout", (context) =>
    answered(options, context, async () => {
      const gone = `${cookieName}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;
      return new Response(null, { status: 204, headers: { "set-cookie": gone } });
    }),
  );
  app.get("/v1/csrf", (context) =>
    answered(options, context, async () => {
      const cookie = cookieOf(context.req.raw);
      const known = await authenticate(options.authenticators, { bearer: null, cookie });
      if (known === null || cookie === null || options.browsers === null) throw unauthenticated();
      return Response.json({ csrf: options.browsers.csrfOf(cookie) });
    }),
  );
}

/** Exchanges the secret of a link for a cookie. */
async function logIn(options: ApiAppOptions, failed: FailedLogins, context: Context): Promise<Response> {
  const address = addressOf(context);
  assertNotBlocked(failed, address);
  if (context.req.header("content-type") !== "application/json")
    throw new HttpFault(415, fault("INVALID_INPUT", "send the body as application/json"));
  const body: unknown = await context.req.json().catch(() => null);
  const link = typeof body === "object" && body !== null && "link" in body ? body.link : null;
  const login = typeof link === "string" ? (options.browsers?.useLink(link) ?? null) : null;
  if (login === null) {
    failed.add(address);
    throw new FaultError(fault("AUTH_REQUIRED", "the link is unknown, was used, or has expired; start with a new one"));
  }
  const isSecure = options.addresses().origins.every((origin) => origin.startsWith("https:"));
  const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(login.maxAgeMs / 1000)}`;
  const cookie = `${cookieName}=${login.cookie}; ${attributes}${isSecure ? "; Secure" : ""}`;
  return Response.json({ csrf: login.csrf }, { headers: { "set-cookie": cookie } });
}

/** Checks everything about a request before its arguments are read. */
async function admitted(
  options: ApiAppOptions,
  failed: FailedLogins,
  context: Context,
  route: ServerRoute,
): Promise<{ readonly credential: Credential; readonly presented: PresentedCredential }> {
  const address = addressOf(context);
  assertNotBlocked(failed, address);
  const { raw } = context.req;
  const presented = { bearer: bearerOf(raw), cookie: cookieOf(raw) };
  const credential = await authenticate(options.authenticators, presented);
  if (credential === null) {
    if (presented.bearer !== null || presented.cookie !== null) failed.add(address);
    throw unauthenticated();
  }
  if (!credential.scopes.includes(route.scope))
    throw new FaultError(fault("AUTH_FORBIDDEN", `this route needs the scope ${route.scope}`, { scope: route.scope }));
  if (credential.isCookie && route.method !== "GET") {
    const token = raw.headers.get(csrfHeader) ?? "";
    if (!options.browsers?.isCsrfOf(presented.cookie ?? "", token))
      throw new FaultError(
        fault("AUTH_FORBIDDEN", `the header ${csrfHeader} does not belong to this session; GET /v1/csrf`),
      );
  }
  return { credential, presented };
}

async function authenticate(
  ways: readonly Authenticator[],
  presented: PresentedCredential,
): Promise<Credential | null> {
  for (const way of ways) {
    const credential = await way(presented);
    if (credential !== null) return credential;
  }
  return null;
}

function unauthenticated(): FaultError {
  return new FaultError(fault("AUTH_REQUIRED", "send a valid API key or token as: Authorization: Bearer …"));
}

function assertNotBlocked(failed: FailedLogins, address: string): void {
  if (failed.isBlocked(address))
    throw new FaultError(fault("SERVER_BUSY", "too many requests with wrong credentials; wait a minute"));
}

/** Runs the work of a request. Turns errors into problem documents, and adds the common headers. */
async function answered(options: ApiAppOptions, context: Context, work: () => Promise<Response>): Promise<Response> {
  const requestId = randomUUID();
  let response: Response;
  try {
    assertRequestAllowed(context.req.raw, options.addresses(), sentPath(context));
    response = await work();
  } catch (error) {
    const problem = problemOf(error, requestId);
    if (problem.code === "INTERNAL") options.onBug(error, requestId);
    response = problemResponse(problem);
  }
  for (const [name, value] of Object.entries(commonHeaders)) response.headers.set(name, value);
  response.headers.set("x-request-id", requestId);
  return response;
}

function problemResponse(problem: Problem): Response {
  return Response.json(problem, {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json",
      ...(problem.status === 401 && { "www-authenticate": "Bearer" }),
      ...((problem.status === 429 || problem.status === 503) && { "retry-after": "1" }),
    },
  });
}

function toResponse(answer: RouteAnswer, request: Request): Response {
  if (answer instanceof Response) return answer;
  if (answer.status === 204) return new Response(null, { status: 204 });
  const etag = answer.etag;
  if (etag !== undefined && request.headers.get("if-none-match") === etag)
    return new Response(null, { status: 304, headers: { etag } });
  return Response.json(answer.body, { status: answer.status, ...(etag !== undefined && { headers: { etag } }) });
}

function bearerOf(request: Request): string | null {
  return /^Bearer ([^\s]+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? null;
}

function cookieOf(request: Request): string | null {
  const parts = (request.headers.get("cookie") ?? "").split(";").map((part) => part.trim().split("="));
  return parts.find(([name]) => name === cookieName)?.[1] ?? null;
}

/** The path as the client sent it: a URL is parsed into another form. */
function sentPath(context: Context): string {
  const { incoming } = context.env as { readonly incoming?: { readonly url?: string } };
  return (incoming?.url ?? context.req.path).split("?")[0] ?? "";
}

/** The address of the client. Behind a proxy, all clients have that of the proxy. */
function addressOf(context: Context): string {
  const { incoming } = context.env as { readonly incoming?: { readonly socket: { readonly remoteAddress?: string } } };
  return incoming?.socket.remoteAddress ?? "";
}
