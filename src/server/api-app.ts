import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Context, Hono } from "hono";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Engine } from "../engine/api/engine-api.ts";
import { consolePaths, demoPaths } from "../http-api/page-paths.ts";
import { AgentSessions } from "./agent-sessions.ts";
import { answerHeaders } from "./answer-headers.ts";
import type { ServerAddresses } from "./assert-request-allowed.ts";
import type { BrowserLogins } from "./browser-logins.ts";
import type { ConsoleFiles } from "./console-files.ts";
import type { Authenticator, Credential, PresentedCredential } from "./credential.ts";
import { type DemoSupervisor, demoRoutes } from "./demo-routes.ts";
import { answerIfMatch, isKnown } from "./entity-tags.ts";
import { FailedLogins } from "./failed-logins.ts";
import { httpLimits } from "./http-limits.ts";
import { makeRouteTable } from "./make-route-table.ts";
import { type Problem, problemOf } from "./problem.ts";
import { readJsonBody } from "./request-body.ts";
import { RequestReader } from "./request-input.ts";
import { RequestLoad } from "./request-load.ts";
import type { RouteAnswer, RouteCall, ServerRoute } from "./server-route.ts";
import { jsonResponse, sendText, textResponse } from "./text-response.ts";

export interface ApiAppOptions {
  readonly engine: Engine;
  /** Ways of authentication, in order. The first that knows the credential decides. */
  readonly authenticators: readonly Authenticator[];
  /** Logs browsers in by links. Null: no browser can log in. */
  readonly browsers: BrowserLogins | null;
  readonly console: ConsoleFiles;
  /** The supervisor of the demo that started this server. */
  readonly demo?: DemoSupervisor;
  /** The addresses of the server. They are known once it listens. */
  readonly addresses: () => ServerAddresses;
  /** Aborts when the server stops: waits and streams end. */
  readonly stopping: AbortSignal;
  /** The time after which a client that reads nothing loses its connection. */
  readonly stallMs: number;
  /** Default: those of `httpLimits`. */
  readonly loadLimits?: ConstructorParameters<typeof RequestLoad>[0];
  readonly isReady: () => Promise<boolean>;
  readonly metrics: () => string;
  readonly now: () => number;
  /** Receives errors that are bugs, with the id of their request. */
  readonly onBug: (error: unknown, requestId: string) => void;
}

const cookieName = "writ_session";
const csrfHeader = "x-writ-csrf";

/** With this header a page notices that the server has another build of the console. */
const buildHeader = "x-writ-build";

/** With this header a page knows that a demo started the server. */
const demoHeader = "x-writ-demo";

/** Makes the web application of a server from its route table. */
export function apiApp(options: ApiAppOptions): Hono {
  const app = new Hono();
  const sessions = new AgentSessions(options.engine, options.stopping);
  const failed = new FailedLogins(options.now);
  const load = new RequestLoad(options.loadLimits);
  for (const route of [...makeRouteTable(), ...demoRoutes(options.demo)]) {
    const reader = new RequestReader(route);
    const path = route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    app.on(route.method, path, (context) =>
      answered(options, context, async () => {
        const { credential, presented } = await admitted(options, failed, context, route);
        const { raw } = context.req;
        // An answer to HEAD has no body, so its stream would have no reader.
        if (raw.method === "HEAD" && route.media === "text/event-stream") throw unknownRoute();
        const hold = load.begin(credential.principal, outgoingOf(context));
        const call: RouteCall = {
          engine: options.engine,
          credential,
          principal: credential.principal,
          input: await reader.read(raw, incomingOf(context), context.req.param() as Record<string, string>, hold),
          requestKey: route.hasRequestKey ? (raw.headers.get("idempotency-key") ?? null) : null,
          lastEventId: raw.headers.get("last-event-id"),
          get signal() {
            return AbortSignal.any([raw.signal, options.stopping]);
          },
          sessions,
          authenticateAgain: () => authenticate(options.authenticators, presented),
        };
        return toResponse(await answerIfMatch(route, call, raw.headers.get("if-match")), raw);
      }),
    );
  }
  addOpenRoutes(app, options, failed);
  addConsole(app, options);
  app.notFound((context) =>
    answered(options, context, async () => {
      if (wantsPage(context)) return options.console.page(context.req.raw, 404);
      throw unknownRoute();
    }),
  );
  return app;
}

/** The console: its page at every path of a page, and the files that the page loads. */
function addConsole(app: Hono, options: ApiAppOptions): void {
  const { console } = options;
  for (const path of [...consolePaths, ...(options.demo === undefined ? [] : demoPaths)])
    app.get(path, (context) => answered(options, context, async () => console.page(context.req.raw, 200)));
  app.get("/assets/:name", (context) =>
    answered(options, context, async () => {
      const asset = console.asset(context.req.param("name"), context.req.raw);
      if (asset === null) throw new FaultError(fault("ROUTE_NOT_FOUND", "the console has no such file; load it again"));
      return asset;
    }),
  );
  app.get("/licences", (context) =>
    answered(options, context, async () => console.licences(context.req.raw) ?? console.page(context.req.raw, 404)),
  );
}

/** True for the address of a page that does not exist: the console shows what to do. */
function wantsPage(context: Context): boolean {
  const isPage = context.req.method === "GET" && !context.req.path.startsWith("/v1/");
  return isPage && (context.req.header("accept") ?? "").includes("text/html");
}

/** Routes that need no credential: health, metrics, and the exchange of a link for a cookie. */
function addOpenRoutes(app: Hono, options: ApiAppOptions, failed: FailedLogins): void {
  const text = (body: string, status = 200, type = "text/plain; charset=utf-8") =>
    textResponse(body, status, { "content-type": type });
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
      options.browsers?.logOut(cookieOf(context.req.raw) ?? "");
      const gone = `${cookieName}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;
      return new Response(null, { status: 204, headers: { "set-cookie": gone } });
    }),
  );
  app.get("/v1/csrf", (context) =>
    answered(options, context, async () => {
      const cookie = cookieOf(context.req.raw);
      const known = await authenticate(options.authenticators, { bearer: null, cookie });
      if (known === null || cookie === null || options.browsers === null) throw unauthenticated();
      return jsonResponse({ csrf: options.browsers.csrfOf(cookie) });
    }),
  );
}

/** Exchanges the secret of a link for a cookie. */
async function logIn(options: ApiAppOptions, failed: FailedLogins, context: Context): Promise<Response> {
  const address = addressOf(context);
  const body = await readJsonBody(incomingOf(context), httpLimits.loginBodyBytes);
  const link = typeof body === "object" && body !== null && "link" in body ? body.link : null;
  const login = typeof link === "string" ? (options.browsers?.useLink(link) ?? null) : null;
  if (login === null) {
    assertNotBlocked(failed, address);
    failed.add(address);
    throw new FaultError(fault("AUTH_REQUIRED", "the link is unknown, was used, or has expired; start with a new one"));
  }
  const isSecure = options.addresses().origins.every((origin) => origin.startsWith("https:"));
  const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(login.maxAgeMs / 1000)}`;
  const cookie = `${cookieName}=${login.cookie}; ${attributes}${isSecure ? "; Secure" : ""}`;
  return jsonResponse({ csrf: login.csrf }, 200, { "set-cookie": cookie });
}

/** Checks everything about a request before its arguments are read. */
async function admitted(
  options: ApiAppOptions,
  failed: FailedLogins,
  context: Context,
  route: ServerRoute,
): Promise<{ readonly credential: Credential; readonly presented: PresentedCredential }> {
  const { raw } = context.req;
  const presented = { bearer: bearerOf(raw), cookie: cookieOf(raw) };
  const credential = await authenticate(options.authenticators, presented);
  if (credential === null) {
    const address = addressOf(context);
    // Only wrong credentials are slowed down: behind a proxy, the clients with valid ones have the same address.
    assertNotBlocked(failed, address);
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
    const credential = await Promise.resolve(presented).then(way).catch(hideFault);
    if (credential !== null) return credential;
  }
  return null;
}

/** A fault of the authentication itself, such as a damaged file of keys, is for the log of the server only. */
function hideFault(error: unknown): never {
  if (error instanceof FaultError && error.fault.code === "DEPENDENCY_UNAVAILABLE") throw error;
  const reason = error instanceof Error ? error.message : String(error);
  throw new Error(`the authentication failed: ${reason}`, { cause: error });
}

function unknownRoute(): FaultError {
  return new FaultError(fault("ROUTE_NOT_FOUND", "there is no such route; GET /v1/openapi.json lists all"));
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
    response = await work();
  } catch (error) {
    const problem = problemOf(error, requestId);
    if (problem.code === "INTERNAL") options.onBug(error, requestId);
    response = problemResponse(problem);
  }
  for (const [name, value] of Object.entries(answerHeaders)) response.headers.set(name, value);
  if (!response.headers.has("cache-control")) response.headers.set("cache-control", "no-store");
  if (options.console.buildId !== null) response.headers.set(buildHeader, options.console.buildId);
  if (options.demo !== undefined) response.headers.set(demoHeader, "1");
  response.headers.set("x-request-id", requestId);
  return sendText(response, outgoingOf(context), options.stallMs);
}

function problemResponse(problem: Problem): Response {
  return jsonResponse(problem, problem.status, {
    "content-type": "application/problem+json",
    ...(problem.status === 401 && { "www-authenticate": "Bearer" }),
    ...((problem.status === 429 || problem.status === 503) && { "retry-after": "1" }),
  });
}

function toResponse(answer: RouteAnswer, request: Request): Response {
  if (answer instanceof Response) return answer;
  if (answer.status === 204) return new Response(null, { status: 204 });
  const etag = answer.etag;
  if (etag !== undefined && isKnown(request.headers.get("if-none-match"), etag))
    return new Response(null, { status: 304, headers: { etag } });
  return jsonResponse(answer.body, answer.status, etag === undefined ? {} : { etag });
}

function bearerOf(request: Request): string | null {
  return /^Bearer ([^\s]+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? null;
}

function cookieOf(request: Request): string | null {
  const parts = (request.headers.get("cookie") ?? "").split(";").map((part) => part.trim().split("="));
  return parts.find(([name]) => name === cookieName)?.[1] ?? null;
}

/** The request and the response of Node. Those of the platform are made from them. */
interface NodeExchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

function incomingOf(context: Context): IncomingMessage {
  return (context.env as NodeExchange).incoming;
}

function outgoingOf(context: Context): ServerResponse {
  return (context.env as NodeExchange).outgoing;
}

/** The address of the client. Behind a proxy, all clients have that of the proxy. */
function addressOf(context: Context): string {
  return incomingOf(context).socket.remoteAddress ?? "";
}
