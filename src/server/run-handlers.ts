import type { Event } from "../core/event/event.ts";
import type { RunHandle } from "../engine/api/engine-api.ts";
import { otlpSpans } from "../otel/otlp-spans.ts";
import { httpLimits } from "./http-limits.ts";
import type { RunWaits } from "./run-waits.ts";
import type { RouteCall, ServerRoute } from "./server-route.ts";
import { answerOf, handleHandler } from "./verb-handler.ts";

/** The handlers of the routes of one run, by verb. */
export function runHandlers(waits: RunWaits): Readonly<Record<string, ServerRoute["handler"]>> {
  const wait = (until: "result" | "finished") =>
    handleHandler(async (handle, { principal, input, signal }) => {
      const ms = Number(input.wait_ms ?? httpLimits.waitMs);
      const result = await waits.wait(principal, handle, until, ms, signal);
      return result === null ? { status: 202, body: await handle.now() } : { status: 200, body: result };
    });
  return {
    "run.now": handleHandler(async (handle) => answerOf(await handle.now())),
    "run.result": wait("result"),
    "run.finished": wait("finished"),
    "run.events": handleHandler(async (handle, call) => answerOf(await eventsPage(handle, call))),
    "run.transcript": handleHandler(async (handle) => answerOf(await handle.transcript())),
    "run.changes": handleHandler(async (handle) => answerOf(await handle.changes())),
    "run.replay": handleHandler(async (handle) => answerOf(await handle.replay())),
    "run.turns": handleHandler(async (handle) => answerOf(await handle.turns())),
    "run.blob": handleHandler(async (handle, { input }) => {
      const bytes = await handle.blob({ blob: input.blob, bytes: input.bytes } as Parameters<RunHandle["blob"]>[0]);
      const headers = { "content-type": "application/octet-stream", "content-disposition": "attachment" };
      return new Response(Uint8Array.from(bytes), { headers });
    }),
    "run.export": handleHandler(async (handle, { input }) =>
      answerOf(await exportRun(handle, input.format === "otlp")),
    ),
    "run.cancel": handleHandler(async (handle, { input }) => {
      const { reason } = input as { readonly reason?: string };
      await handle.cancel(reason === undefined ? {} : { reason });
      return { status: 204 };
    }),
  };
}

async function eventsPage(handle: RunHandle, { input }: RouteCall): Promise<object> {
  const limit = Math.min(Number(input.limit ?? httpLimits.eventsPage), httpLimits.eventsPage);
  const events = [];
  for await (const event of handle.events({ after: Number(input.after ?? 0) })) {
    if (events.length === limit) return { events, next: events.at(-1)?.position ?? null };
    events.push(event);
  }
  return { events, next: null };
}

async function exportRun(handle: RunHandle, asSpans: boolean): Promise<object> {
  const recorded = [];
  for await (const event of handle.events()) recorded.push(event);
  if (!asSpans) return { run_id: handle.run_id, events: recorded };
  return otlpSpans(
    handle.run_id,
    recorded.map(({ event }): Event => event),
  );
}
