import type { RunResult } from "../core/run/run-result.ts";
import { FaultError } from "../core/values/fault.ts";
import type { RunId } from "../core/values/ids.ts";
import type { RecordedEvent, RunHandle, RunProgress, WaitOptions } from "../engine/api/engine-api.ts";
import type { HttpCaller } from "./http-caller.ts";
import { readEventStream } from "./read-event-stream.ts";

/** Returns a handle on a run of the server. */
export function remoteRun(caller: HttpCaller, run_id: RunId, attached: boolean): RunHandle {
  const wait = async (verb: "run.result" | "run.finished", { signal }: WaitOptions): Promise<RunResult> => {
    for (;;) {
      const { status, body } = await caller.call(verb, { run_id }, signal);
      if (status !== 202) return body as RunResult;
    }
  };
  return {
    run_id,
    attached,
    result: (options = {}) => wait("run.result", options),
    finished: (options = {}) => wait("run.finished", options),
    now: async () => (await caller.call("run.now", { run_id })).body as RunProgress,
    events: (options = {}) => remoteEvents(caller, run_id, options),
    transcript: async () =>
      (await caller.call("run.transcript", { run_id })).body as Awaited<ReturnType<RunHandle["transcript"]>>,
    changes: async () =>
      (await caller.call("run.changes", { run_id })).body as Awaited<ReturnType<RunHandle["changes"]>>,
    replay: async () => (await caller.call("run.replay", { run_id })).body as Awaited<ReturnType<RunHandle["replay"]>>,
    turns: async () => (await caller.call("run.turns", { run_id })).body as Awaited<ReturnType<RunHandle["turns"]>>,
    blob: async ({ blob, bytes }) => {
      const response = await caller.open("run.blob", { run_id, blob, bytes }, {});
      return new Uint8Array(await response.arrayBuffer());
    },
    cancel: async (options = {}) => void (await caller.call("run.cancel", { run_id, ...options })),
  };
}

interface EventOptions {
  readonly after?: number;
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

async function* remoteEvents(
  caller: HttpCaller,
  run_id: RunId,
  { after = 0, follow = false, signal }: EventOptions,
): AsyncGenerator<RecordedEvent> {
  let position = after;
  if (follow) {
    yield* followEvents(caller, run_id, after, signal);
    return;
  }
  for (;;) {
    const { body } = await caller.call("run.events", { run_id, after: position }, signal);
    const { events, next } = body as { readonly events: readonly RecordedEvent[]; readonly next: number | null };
    for (const event of events) yield event;
    if (next === null) return;
    position = next;
  }
}

/** Follows the stream of a run. A cut connection is opened again at the last position. */
async function* followEvents(
  caller: HttpCaller,
  run_id: RunId,
  after: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<RecordedEvent> {
  let position = after;
  while (!signal?.aborted) {
    try {
      const headers: Record<string, string> = position === 0 ? {} : { "last-event-id": String(position) };
      const response = await caller.open("run.stream", { run_id }, headers, signal);
      if (response.status === 204 || response.body === null) return;
      for await (const { event, data } of readEventStream(response.body)) {
        if (event === "end") return;
        if (event === "reset") position = 0;
        if (event !== "event") continue;
        const recorded = JSON.parse(data) as RecordedEvent;
        position = recorded.position;
        yield recorded;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof FaultError && error.fault.code !== "SERVER_UNREACHABLE") throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
}

const RECONNECT_MS = 100;
