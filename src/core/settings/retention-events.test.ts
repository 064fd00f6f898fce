import { describe, expect, it } from "vitest";
import type { Instant } from "../values/ids.ts";
import { foldRetentions, type RetentionEvent } from "./retention-events.ts";

const started = (at: number, by: string): RetentionEvent => ({
  type: "retention.started",
  at: at as Instant,
  by,
  reason: "old",
  ended_before: (at - 1) as Instant,
});
const erased = { runs: 2, events: 7, waiting: 1, snapshots: 0 };

describe("retentions of a tenant", () => {
  it("name who started each, and what it erased once it has ended", () => {
    const ended: RetentionEvent = { type: "retention.ended", at: 9 as Instant, by: "ana", started: 1, ...erased };
    expect(foldRetentions([started(5, "ana"), started(6, "bo"), ended])).toEqual([
      { at: 5, by: "ana", reason: "old", ended_before: 4, erased },
      { at: 6, by: "bo", reason: "old", ended_before: 5, erased: null },
    ]);
  });

  it("ignore an end whose start does not exist", () => {
    expect(foldRetentions([{ type: "retention.ended", at: 9 as Instant, by: "ana", started: 3, ...erased }])).toEqual(
      [],
    );
  });
});
