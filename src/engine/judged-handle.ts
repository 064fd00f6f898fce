import type { VerbTarget } from "../core/approval/judge-verb.ts";
import type { Principal } from "../core/approval/principal.ts";
import type { VerbJudge } from "./admin/verb-judge.ts";
import type { RunHandle } from "./api/engine-api.ts";
import { readOptions } from "./api/verb-options.ts";

/** Wraps the handle of a run: each method is judged for the principal that got the handle. */
export function judgedHandle(judge: VerbJudge, principal: Principal, handle: RunHandle, run: VerbTarget): RunHandle {
  return {
    run_id: handle.run_id,
    attached: handle.attached,
    result: async (given = {}) => {
      judge.assertAllowed(principal, "run.result", run);
      return handle.result(readOptions("run.result", given));
    },
    finished: async (given = {}) => {
      judge.assertAllowed(principal, "run.finished", run);
      return handle.finished(readOptions("run.finished", given));
    },
    now: async () => {
      judge.assertAllowed(principal, "run.now", run);
      return handle.now();
    },
    events: (given = {}) => {
      judge.assertAllowed(principal, "run.events", run);
      return handle.events(readOptions("run.events", given));
    },
    transcript: async () => {
      judge.assertAllowed(principal, "run.transcript", run);
      return handle.transcript();
    },
    changes: async () => {
      judge.assertAllowed(principal, "run.changes", run);
      return handle.changes();
    },
    replay: async () => {
      judge.assertAllowed(principal, "run.replay", run);
      return handle.replay();
    },
    turns: async () => {
      judge.assertAllowed(principal, "run.turns", run);
      return handle.turns();
    },
    blob: async (reference) => {
      judge.assertAllowed(principal, "run.blob", run);
      return handle.blob(readOptions("run.blob", reference));
    },
    cancel: async (given = {}) => {
      judge.assertAllowed(principal, "run.cancel", run);
      await handle.cancel(readOptions("run.cancel", given));
    },
  };
}
