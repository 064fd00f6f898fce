import type { Principal } from "../core/approval/principal.ts";
import type { Verb } from "../core/approval/verb-rules.ts";
import type { VerbJudge } from "./admin/verb-judge.ts";
import type { OpenRun } from "./api/open-run-api.ts";
import { readOptions } from "./api/verb-options.ts";

/** Wraps the open run of a session: each method is judged for the principal that opened it, whose own run it is. */
export function judgedOpenRun(judge: VerbJudge, principal: Principal, session: OpenRun): OpenRun {
  const judged = (verb: Verb) => judge.assertAllowed(principal, verb, { by: principal.id, project: null });
  return {
    get run_id() {
      return session.run_id;
    },
    attached: session.attached,
    callTool: async (call, given = {}) => {
      judged("openRun.callTool");
      return session.callTool(call, readOptions("openRun.callTool", given));
    },
    callTools: async (calls, given = {}) => {
      judged("openRun.callTools");
      return session.callTools(calls, readOptions("openRun.callTools", given));
    },
    beginCall: async (call, given = {}) => {
      judged("openRun.beginCall");
      return session.beginCall(call, readOptions("openRun.beginCall", given));
    },
    endCall: async (token, report) => {
      judged("openRun.endCall");
      return session.endCall(token, readOptions("openRun.endCall", report));
    },
    recordModelCall: async (request, ask, given = {}) => {
      judged("openRun.recordModelCall");
      return session.recordModelCall(request, ask, readOptions("openRun.recordModelCall", given));
    },
    findCall: async (id, given = {}) => {
      judged("openRun.findCall");
      return session.findCall(id, readOptions("openRun.findCall", given));
    },
    markDelivered: async (id, given) => {
      judged("openRun.markDelivered");
      await session.markDelivered(id, readOptions("openRun.markDelivered", given));
    },
    confirmCall: async (id, given = {}) => {
      judged("openRun.confirmCall");
      return session.confirmCall(id, readOptions("openRun.confirmCall", given));
    },
    turns: async () => {
      judged("openRun.turns");
      return session.turns();
    },
    close: async (given = {}) => {
      judged("openRun.close");
      return session.close(readOptions("openRun.close", given));
    },
    release: async () => {
      judged("openRun.release");
      await session.release();
    },
  };
}
