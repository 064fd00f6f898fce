import { addedSteps } from "../event/added-steps.ts";
import type { Event } from "../event/event.ts";
import type { Fault } from "../values/fault.ts";
import type { Instant, StepId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";

/** One call of a tool and its result. */
export interface TranscriptEntry {
  readonly step_id: StepId;
  readonly tool: string;
  /** Null if the tool was not called. */
  readonly attempt: number | null;
  readonly at: Instant;
  readonly input: Json;
  readonly outcome: TranscriptOutcome;
}

export type TranscriptOutcome =
  /** `reused` is true if the output comes from an earlier call and the tool was not called. */
  | { readonly kind: "answer"; readonly output: Json; readonly reused: boolean }
  | { readonly kind: "failure" | "doubt" | "refusal"; readonly fault: Fault };

/** Lists the tool calls of a run and their results in the order of the journal. */
export function runTranscript(events: Iterable<Event>): readonly TranscriptEntry[] {
  const calls = new Map<StepId, { readonly tool: string; input: Json }>();
  const entries: TranscriptEntry[] = [];
  for (const event of events) {
    for (const { step_id, name, payload } of addedSteps(event))
      calls.set(step_id, { tool: name, input: payload ?? {} });
    const step = "step_id" in event ? calls.get(event.step_id) : undefined;
    if (step === undefined || !("step_id" in event)) continue;
    step.input = inputIn(event) ?? step.input;
    const outcome = outcomeIn(event);
    if (outcome === null) continue;
    const attempt = "attempt" in event ? event.attempt : null;
    entries.push({ step_id: event.step_id, tool: step.tool, attempt, at: event.at, input: step.input, outcome });
  }
  return entries;
}

/** Returns the input that the event records, or undefined if it is the payload of the plan. */
function inputIn(event: Event): Json | undefined {
  if ("call" in event) return event.call.input;
  return "input" in event ? event.input : undefined;
}

function outcomeIn(event: Event): TranscriptOutcome | null {
  switch (event.type) {
    case "step.succeeded":
      return { kind: "answer", output: event.output, reused: event.reused !== undefined };
    case "step.settled":
      return event.settled.as === "happened" ? { kind: "answer", output: event.settled.output, reused: false } : null;
    case "step.failed":
      return { kind: "failure", fault: event.fault };
    case "step.doubted":
      return { kind: "doubt", fault: event.fault };
    case "step.rejected":
      return { kind: "refusal", fault: event.fault };
    default:
      return null;
  }
}
