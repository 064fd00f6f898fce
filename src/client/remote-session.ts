import type { CallAnswer } from "../core/run/call-answer.ts";
import type { RunResult } from "../core/run/run-result.ts";
import type { RunId } from "../core/values/ids.ts";
import type { JsonObject } from "../core/values/json.ts";
import type { ModelAnswer } from "../engine/api/model-api.ts";
import type { AgentCall, BegunCall, OpenRun, SessionTurn } from "../engine/api/open-run-api.ts";
import { apiName, renameOptions } from "../http-api/api-route.ts";
import type { HttpCaller } from "./http-caller.ts";

/** The open run of a session of the server. Handlers and model requests stay in the process of the agent. */
export type RemoteSession = Pick<
  OpenRun,
  | "run_id"
  | "attached"
  | "callTools"
  | "beginCall"
  | "endCall"
  | "findCall"
  | "markDelivered"
  | "confirmCall"
  | "turns"
  | "close"
  | "release"
> & {
  /** Proposes a call of a tool that the server has. */
  callTool(call: AgentCall, options?: Parameters<OpenRun["callTools"]>[1]): Promise<CallAnswer>;
  /** Returns the recorded answer to the request, or asks the model through `ask` and records what it returns. */
  recordModelCall(
    request: JsonObject,
    ask: () => Promise<unknown>,
    options?: {
      readonly lane?: string;
      readonly compacted?: boolean;
      readonly redact?: readonly string[];
      readonly content?: "record" | "omit";
    },
  ): Promise<ModelAnswer>;
};

/** Returns the session that the server has opened. */
export function remoteSession(
  caller: HttpCaller,
  { session_id, run_id, attached }: { readonly session_id: string; readonly run_id: RunId; readonly attached: boolean },
): RemoteSession {
  const call = async <Answer>(verb: string, fields: object, options: object = {}): Promise<Answer> => {
    const { signal, ...named } = options as { readonly signal?: AbortSignal };
    const { body } = await caller.call(
      `openRun.${verb}`,
      { session_id, ...fields, ...renameOptions(named, apiName) },
      signal,
    );
    return body as Answer;
  };
  return {
    run_id,
    attached,
    callTool: async (proposed, options) => {
      const [answer] = await call<readonly CallAnswer[]>("callTools", { calls: [proposed] }, options);
      return answer as CallAnswer;
    },
    callTools: (calls, options) => call<readonly CallAnswer[]>("callTools", { calls }, options),
    beginCall: ({ id, tool, input }, options) =>
      call<BegunCall | CallAnswer>("beginCall", { id, tool, input }, options),
    endCall: async (token, report) => {
      const { body } = await caller.call("endCall", { token, ...renameOptions(report, apiName) });
      return body as CallAnswer;
    },
    recordModelCall: async (request, ask, options) => {
      const begun = await call<ModelAnswer | { readonly go: true; readonly token: string }>(
        "recordModelCall",
        { request },
        options,
      );
      if (!("go" in begun)) return begun;
      const { token } = begun;
      try {
        return await call<ModelAnswer>("answerModelCall", { token, answer: await ask() });
      } catch (error) {
        await call("answerModelCall", { token, failed: error instanceof Error ? error.message : String(error) }).catch(
          () => {},
        );
        throw error;
      }
    },
    findCall: (id, options) => call<CallAnswer | null>("findCall", { id }, options),
    markDelivered: (id, options) => call("markDelivered", { id }, options),
    confirmCall: (id, options) => call("confirmCall", { id }, options),
    turns: () => call<readonly SessionTurn[]>("turns", {}),
    close: (options) => call<RunResult>("close", {}, options),
    release: () => call("release", {}),
  };
}
