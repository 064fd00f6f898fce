import { FaultError, fault } from "../core/values/fault.ts";
import type { RunHandle } from "../engine/api/engine-api.ts";
import { httpLimits } from "./http-limits.ts";
import { problemOf } from "./problem.ts";
import type { RouteAnswer, RouteCall } from "./server-route.ts";
import { SseWriter } from "./sse-response.ts";

/** Streams one run. The id of an event is its position. */
export async function streamRun(call: RouteCall): Promise<RouteAnswer> {
  const handle = await findRun(call, String(call.input.run_id));
  const given = call.lastEventId ?? call.input.after ?? 0;
  const after = readPosition(String(given));
  const place = await findPlace(handle, after);
  // 204 tells the browser that there is nothing left to reconnect for.
  if (place.ended && call.lastEventId !== null) return { status: 204 };
  const writer = new SseWriter(call.signal);
  watchCredential(writer, call);
  void sendRun(writer, handle, place, (position) => String(position))
    .then(() => writer.send({ event: "end", data: { run_id: handle.run_id } }))
    .catch((error: unknown) => sendFailure(writer, error))
    .finally(() => writer.end());
  return writer.response;
}

/** Streams several runs and list hints on one connection. The id of an event is the position in every run. */
export async function streamTab(call: RouteCall): Promise<RouteAnswer> {
  const positions = readCursor(call.lastEventId ?? String(call.input.runs ?? ""));
  const handles = await Promise.all([...positions.keys()].map((id) => findRun(call, id)));
  const writer = new SseWriter(call.signal);
  watchCredential(writer, call);
  const cursor = () => [...positions].map(([id, position]) => `${id}:${position}`).join(",");
  const sources = handles.map(async (handle) => {
    const place = await findPlace(handle, positions.get(handle.run_id) ?? 0);
    if (place.reset) positions.set(handle.run_id, 0);
    await sendRun(writer, handle, place, (position) => {
      positions.set(handle.run_id, position);
      return cursor();
    });
    await writer.send({ event: "end", id: cursor(), data: { run_id: handle.run_id } });
  });
  if (call.input.lists !== undefined) sources.push(sendHints(writer, call));
  for (const source of sources) source.catch((error: unknown) => sendFailure(writer, error));
  return writer.response;
}

async function findRun({ engine, principal }: RouteCall, id: string): Promise<RunHandle> {
  return engine.run(id, { principal });
}

/** Where a stream begins. `reset`: the journal no longer has the position of the client, so it starts again. */
interface StreamPlace {
  readonly after: number;
  readonly reset: boolean;
  /** True: the run has ended and has no event after the position. */
  readonly ended: boolean;
}

/** Looks whether the journal still has the position that the client has seen. */
async function findPlace(handle: RunHandle, after: number): Promise<StreamPlace> {
  try {
    if (after === 0) return { after: 0, reset: false, ended: false };
    const positions: number[] = [];
    for await (const { position } of handle.events({ after: after - 1 })) {
      positions.push(position);
      if (positions.length === 2) break;
    }
    if (positions[0] !== after) return { after: 0, reset: true, ended: false };
    return { after, reset: false, ended: positions.length === 1 && (await handle.now()).final };
  } catch (error) {
    if (isErased(error)) return { after: 0, reset: true, ended: false };
    throw error;
  }
}

/** Retention erases bodies, and keeps the run: only its events cannot be read. */
function isErased(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND";
}

async function sendRun(
  writer: SseWriter,
  handle: RunHandle,
  { after, reset }: StreamPlace,
  idOf: (position: number) => string,
): Promise<void> {
  const { run_id } = handle;
  if (reset) await writer.send({ event: "reset", id: idOf(0), data: { run_id } });
  try {
    for await (const recorded of handle.events({ after, follow: true, signal: writer.signal })) {
      if (writer.signal.aborted) return;
      await writer.send({ event: "event", id: idOf(recorded.position), data: { run_id, ...recorded } });
    }
  } catch (error) {
    if (!isErased(error)) throw error;
    if (!reset) await writer.send({ event: "reset", id: idOf(0), data: { run_id } });
  }
}

async function sendHints(writer: SseWriter, { engine, principal }: RouteCall): Promise<void> {
  for await (const change of engine.changes({ principal, signal: writer.signal }))
    await writer.send({ event: "change", data: change });
}

/** Ends the stream when its credential is no longer valid. */
function watchCredential(writer: SseWriter, call: RouteCall): void {
  writer.every(httpLimits.streamCheckMs, () => {
    call.authenticateAgain().then(
      (credential) => (credential?.scopes.includes("read") ? undefined : writer.end()),
      () => writer.end(),
    );
  });
}

/** Says why a stream cannot go on, and ends it, so that the client opens it again. */
async function sendFailure(writer: SseWriter, error: unknown): Promise<void> {
  await writer.send({ event: "problem", data: problemOf(error, "stream") });
  writer.end();
}

function readPosition(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new FaultError(fault("INVALID_INPUT", "the position of a stream is a whole number, from its last event id"));
}

/** Reads `run:position,run:position`. A run without a position starts at its first event. */
function readCursor(text: string): Map<string, number> {
  const parts = text === "" ? [] : text.split(",");
  if (parts.length > httpLimits.streamRuns)
    throw new FaultError(fault("LIMIT_EXCEEDED", `one stream has at most ${httpLimits.streamRuns} runs`));
  return new Map(
    parts.map((part) => {
      const [id = "", position = "0"] = part.split(":");
      return [id, readPosition(position)];
    }),
  );
}
