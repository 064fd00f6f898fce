import type { Event, EventType } from "../../../src/core/event/event.ts";
import { eventSentence, type Sentence } from "../../../src/core/run/event-sentence.ts";
import type { JournalEntry, RunView } from "./run-view.ts";

/** How a line is marked. `quiet` lines are hidden until a reader asks for every event. */
export type StoryTone = "start" | "good" | "bad" | "person" | "wait" | "plain" | "quiet";

export interface StoryLine {
  readonly position: number;
  readonly at: number;
  readonly type: EventType;
  readonly tone: StoryTone;
  /** The step that the line is about. Null: the run. */
  readonly step_id: string | null;
  readonly sentence: Sentence;
}

const tones: Readonly<Record<EventType, StoryTone>> = {
  "run.accepted": "start",
  "run.refused": "bad",
  "run.simulated": "plain",
  "run.closed": "plain",
  "run.released": "quiet",
  "run.turn_finished": "quiet",
  "run.branched": "plain",
  "run.sub_agent_left": "plain",
  "run.acts_left_above": "plain",
  "run.replanned": "start",
  "cancel.requested": "person",
  "run.restored": "person",
  "run.rolling_back": "bad",
  "run.resumed": "person",
  "run.undone": "person",
  "run.verified": "plain",
  "run.ended": "plain",
  "run.taken": "wait",
  "run.rules_adopted": "plain",
  "run.parked": "wait",
  "run.poisoned": "bad",
  "budget.alerted": "wait",
  "notice.delivered": "quiet",
  "notice.withdrawn": "plain",
  "state.restored": "person",
  "step.proposed": "plain",
  "step.started": "quiet",
  "step.succeeded": "good",
  "step.failed": "bad",
  "step.cancelled": "plain",
  "step.doubted": "bad",
  "step.probed": "plain",
  "step.settled": "person",
  "step.readied": "quiet",
  "step.restoring": "bad",
  "step.restored": "plain",
  "step.rejected": "bad",
  "step.parked": "wait",
  "step.compensating": "person",
  "step.compensated": "good",
  "step.uncompensated": "bad",
  "step.superseded": "plain",
  "step.delegated": "plain",
  "step.delivered": "quiet",
  "evidence.kept": "plain",
  "gate.opened": "wait",
  "gate.endorsed": "person",
  "gate.approved": "person",
  "gate.amended": "person",
  "gate.escalated": "wait",
  "gate.rejected": "person",
  "gate.expired": "bad",
  "gate.closed": "plain",
  "gate.contested": "plain",
};

/** The lines that were made. A line never changes, and a long run has many. */
const made = new WeakMap<JournalEntry, StoryLine>();

/** Returns a journal entry as a line of the story. */
export function storyLine(view: RunView, entry: JournalEntry): StoryLine {
  const known = made.get(entry);
  if (known !== undefined) return known;
  const { position, event } = entry;
  const { at, type } = event;
  const step_id = subjectOf(view, event);
  const line = { position, at, type, tone: toneOf(event), step_id, sentence: eventSentence(event) };
  made.set(entry, line);
  return line;
}

const idWords: Readonly<Record<string, string>> = { gate: "gate ", wrk: "worker ", run: "" };

/** Shortens ids to their ends: their beginnings are times. The page links to what they name. */
export function shortIds(text: string): string {
  return text.replaceAll(
    /\b(gate|wrk|run)_[0-9a-z]{18}([0-9a-z]{8})\b/g,
    (_, kind: string, end: string) => `${idWords[kind]}…${end}`,
  );
}

function subjectOf(view: RunView, event: Event): string | null {
  if ("step_id" in event) return event.step_id;
  if (!("gate_id" in event)) return null;
  const held = view.stepOfGate(event.gate_id);
  return held === null ? null : view.step(held).spec.step_id;
}

function toneOf(event: Event): StoryTone {
  if (event.type === "run.ended") return event.status === "completed" ? "good" : "bad";
  if (event.type === "step.failed" && event.retry_at !== null) return "wait";
  return tones[event.type];
}
