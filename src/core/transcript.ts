import type { Event } from "./event.ts";
import type { Fault } from "./fault.ts";
import type { Instant, StepId } from "./id.ts";
import type { Json } from "./json/json.ts";

/** One call, as who reads along wants it: what was asked for, and what came of it. */
export interface Exchange {
  readonly step_id: StepId;
  readonly tool: string;
  /** Null: it was never called. */
  readonly attempt: number | null;
  readonly at: Instant;
  readonly input: Json;
  readonly came: Came;
}

type Came =
  /** `reused`: it was answered from the record, and the tool not called. */
  | { readonly of_it: "answer"; readonly output: Json; readonly reused: boolean }
  | { readonly of_it: "failure" | "doubt" | "refusal"; readonly fault: Fault };

/** What was asked of the tools of a run and what they answered, in order. It is a reading of the journal: nothing else is kept. */
export function transcriptOf(events: Iterable<Event>): readonly Exchange[] {
  const asked = new Map<StepId, { readonly tool: string; input: Json }>();
  const exchanges: Exchange[] = [];
  for (const event of events) {
    for (const { step_id, name, payload } of stepsIn(event)) asked.set(step_id, { tool: name, input: payload ?? {} });
    const step = "step_id" in event ? asked.get(event.step_id) : undefined;
    if (step === undefined || !("step_id" in event)) continue;
    step.input = inputIn(event) ?? step.input;
    const came = cameIn(event);
    if (came === null) continue;
    const attempt = "attempt" in event ? event.attempt : null;
    exchanges.push({ step_id: event.step_id, tool: step.tool, attempt, at: event.at, input: step.input, came });
  }
  return exchanges;
}

function stepsIn(event: Event) {
  if (event.type === "run.accepted") return event.plan?.steps ?? [];
  return event.type === "step.proposed" ? [event.step] : [];
}

/** Where it cannot be read off the plan. */
function inputIn(event: Event): Json | undefined {
  if ("call" in event) return event.call.input;
  return "input" in event ? event.input : undefined;
}

function cameIn(event: Event): Came | null {
  switch (event.type) {
    case "step.succeeded":
      return { of_it: "answer", output: event.output, reused: event.reused !== undefined };
    case "step.settled":
      return event.settled.as === "happened" ? { of_it: "answer", output: event.settled.output, reused: false } : null;
    case "step.failed":
      return { of_it: "failure", fault: event.fault };
    case "step.doubted":
      return { of_it: "doubt", fault: event.fault };
    case "step.rejected":
      return { of_it: "refusal", fault: event.fault };
    default:
      return null;
  }
}
