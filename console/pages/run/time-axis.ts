import type { RunView } from "./run-view.ts";

/** A part of the time of a run on the axis. In an idle part, no step executes, so the axis shows it shorter. */
interface AxisPart {
  readonly from: number;
  readonly until: number;
  readonly start: number;
  readonly width: number;
  readonly idle: boolean;
}

/** The share of the axis that all idle parts have together, at most. */
const IDLE_SHARE = 0.35;

/**
 * Places times on an axis from 0 to 1. A run can wait for days and then execute for milliseconds, so the axis gives most
 * of its width to the times in which a step executes.
 */
export class TimeAxis {
  readonly #parts: readonly AxisPart[];

  private constructor(parts: readonly AxisPart[]) {
    this.#parts = parts;
  }

  static of(view: RunView, now: number): TimeAxis {
    const from = view.run.accepted_at;
    const end = view.run.ended?.at ?? now;
    return TimeAxis.between(from, Math.max(end, from + 1), busyTimes(view, now));
  }

  /** Makes the axis of the time between two moments, with the busy times ordered by their start. */
  static between(from: number, until: number, busy: readonly (readonly [from: number, until: number])[]): TimeAxis {
    const spans = splitTime(from, until, busy);
    const busyMs = sum(spans, (span) => !span.idle);
    const idleMs = sum(spans, (span) => span.idle);
    const idleShare = busyMs === 0 ? 1 : Math.min(IDLE_SHARE, idleMs / (busyMs + idleMs));
    let start = 0;
    const parts = spans.map((span) => {
      const ms = span.until - span.from;
      const width = span.idle ? (idleShare * ms) / idleMs : ((1 - idleShare) * ms) / busyMs;
      const part = { ...span, start, width };
      start += width;
      return part;
    });
    return new TimeAxis(parts);
  }

  /** Returns the place of a time, from 0 to 1. */
  place(at: number): number {
    const part = this.#partAt(at);
    if (part === undefined) return 0;
    const share = (at - part.from) / (part.until - part.from);
    return Math.min(1, Math.max(0, part.start + share * part.width));
  }

  /** Returns the time at a place. */
  timeAt(place: number): number {
    const part = this.#parts.find(({ start, width }) => place <= start + width) ?? this.#parts.at(-1);
    if (part === undefined) return 0;
    return part.from + (part.width === 0 ? 0 : (place - part.start) / part.width) * (part.until - part.from);
  }

  /** The idle parts that the axis shows shorter than busy ones. */
  get breaks(): readonly { readonly from: number; readonly until: number }[] {
    const [busiest] = this.#parts.filter(({ idle }) => !idle);
    if (busiest === undefined) return [];
    const scale = busiest.width / (busiest.until - busiest.from);
    return this.#parts.filter(({ idle, width, from, until }) => idle && width / (until - from) < scale * 0.99);
  }

  #partAt(at: number): AxisPart | undefined {
    let low = 0;
    let high = this.#parts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#parts[middle] as AxisPart).from <= at) low = middle;
      else high = middle - 1;
    }
    return this.#parts[low];
  }
}

/** Returns the times in which at least one step executes, without overlaps. */
function busyTimes(view: RunView, now: number): readonly (readonly [number, number])[] {
  const times: (readonly [number, number])[] = [];
  for (let index = 0; index < view.length; index += 1)
    for (const { kind, from, until } of view.history(index).phases)
      if (kind === "running") times.push([from, Math.max(until ?? now, from + 1)]);
  return times.sort(([one], [two]) => one - two);
}

type Span = Pick<AxisPart, "from" | "until" | "idle">;

function splitTime(from: number, until: number, busy: readonly (readonly [number, number])[]): readonly Span[] {
  const spans: { from: number; until: number; idle: boolean }[] = [];
  let reached = from;
  for (const [start, end] of busy) {
    const begins = Math.max(start, reached);
    const ends = Math.min(end, until);
    if (ends <= begins) continue;
    if (begins > reached) spans.push({ from: reached, until: begins, idle: true });
    const last = spans.at(-1);
    if (last !== undefined && !last.idle && last.until === begins) last.until = ends;
    else spans.push({ from: begins, until: ends, idle: false });
    reached = ends;
  }
  if (until > reached) spans.push({ from: reached, until, idle: true });
  return spans;
}

function sum(spans: readonly Span[], isCounted: (span: Span) => boolean): number {
  return spans.reduce((total, span) => total + (isCounted(span) ? span.until - span.from : 0), 0);
}
