import type { JsonObject } from "../core/values/json.ts";
import type { ModelCallOptions } from "../engine/api/model-api.ts";
import type { HostReport, OpenRun, OpenRunOptions } from "../engine/api/open-run-api.ts";
import { type ApiRoute, engineName, renameOptions } from "../http-api/api-route.ts";
import type { RouteAnswer, RouteCall, ServerRoute } from "./server-route.ts";
import { answerOf, verbArguments } from "./verb-handler.ts";

type SessionMethod = (...given: unknown[]) => Promise<unknown>;

/** The handlers of the routes of sessions that are more than a call of the method of the same name. */
export const sessionRouteHandlers: Readonly<Record<string, ServerRoute["handler"]>> = {
  openRun: async ({ sessions, principal, input }) => {
    const terms = renameOptions(input, engineName) as unknown as Omit<OpenRunOptions, "principal">;
    const { session_id, run } = await sessions.open(principal, terms);
    const { run_id, attached } = run;
    return { status: attached ? 200 : 201, body: { session_id, run_id, attached } };
  },
  "openRun.beginCall": withSession(async (run, { input, signal }) => {
    const { id, tool, input: given, session_id: _session, ...options } = input as Readonly<Record<string, unknown>>;
    const call = { id: String(id), tool: String(tool), input: given };
    return answerOf(await run.beginCall(call, { ...renameOptions(options, engineName), signal }));
  }),
  "openRun.recordModelCall": withSession(async (run, { sessions, principal, input }) => {
    const { request, session_id: _session, ...options } = input as Readonly<Record<string, unknown>>;
    const given = renameOptions(options, engineName) as ModelCallOptions;
    return answerOf(await sessions.beginModelCall(principal, run, request as JsonObject, given));
  }),
  "openRun.answerModelCall": withSession(async (_run, { sessions, principal, input }) => {
    const { token, answer, failed } = input as {
      readonly token: string;
      readonly answer?: unknown;
      readonly failed?: string;
    };
    return answerOf(await sessions.endModelCall(principal, token, failed === undefined ? { answer } : { failed }));
  }),
  "openRun.close": withSession(async (run, { sessions, principal, input }) => {
    const { session_id, ...options } = input as Readonly<Record<string, unknown>>;
    sessions.forget(principal, String(session_id));
    return answerOf(await run.close(options));
  }),
  "openRun.release": withSession(async (run, { sessions, principal, input }) => {
    sessions.forget(principal, String(input.session_id));
    return answerOf(await run.release());
  }),
  endCall: async ({ engine, principal, input }) => {
    const { token, ...report } = input as Readonly<Record<string, unknown>>;
    const given = renameOptions(report, engineName) as unknown as HostReport;
    return answerOf(await engine.endCall(String(token), { ...given, principal }));
  },
};

/** Returns a handler that calls the method of the session in the path. */
export function sessionHandler(route: ApiRoute): ServerRoute["handler"] {
  const method = route.verb.split(".")[1] as keyof OpenRun;
  const waits = method === "callTools" || method === "callTool";
  return withSession(async (run, call) => {
    const { session_id: _session, ...input } = call.input;
    const { given, options } = verbArguments(route, { ...call, input });
    const all = waits ? { ...options, signal: call.signal } : options;
    const takesOptions = Object.keys(all).length > 0;
    return answerOf(await (run[method] as SessionMethod)(...given, ...(takesOptions ? [all] : [])));
  });
}

function withSession(use: (run: OpenRun, call: RouteCall) => Promise<RouteAnswer>): ServerRoute["handler"] {
  return async (call) => use(await call.sessions.find(call.principal, String(call.input.session_id)), call);
}
