import type { Event } from "../core/event/event.ts";
import { eventSentence, type SentencePart } from "../core/run/event-sentence.ts";
import { line, type SafeLine, shortValue } from "./safe-line.ts";
import type { TextStyle } from "./text-style.ts";
import { timeText } from "./time-text.ts";

/** Returns an event as one line: its subject, and what happened. */
export function eventLine(event: Event, style: TextStyle): SafeLine {
  const subject = "gate_id" in event ? "gate" : "step_id" in event ? event.step_id : "run";
  const parts = eventSentence(event).map((part) => partText(part, style));
  return parts.reduce((left, right) => line`${left}${right}`, line`${line`${subject}`.painted(style.bold)} `);
}

function partText(part: SentencePart, style: TextStyle): SafeLine {
  if (typeof part === "string") return line`${part}`;
  return "at" in part ? line`${timeText(part.at, style)}` : shortValue(part.value);
}
