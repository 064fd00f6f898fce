import { describe, expect, it } from "vitest";
import type { Decision } from "../../src/core/decide/decide.ts";
import type { Event, EventType } from "../../src/core/event/event.ts";
import { eventTraits } from "../../src/core/event/event-traits.ts";
import { isProgress } from "../../src/core/run/parked-run.ts";
import type { StoredEvent } from "../../src/core/store/store.ts";
import { isHardEvent, isNeverShown, lastHardPosition } from "../../src/engine/journal/hard-events.ts";
import { needsOwnEntry } from "../../src/engine/journal/needs-own-entry.ts";

const ledger = { version: 2, generation: 1 };
const box = { key: "paid", version: 1, sent: 0, taken: 0, waiters: [] };

/** Whether an event with these fields is hard, and whether it needs its own append. */
interface Sample {
  readonly carries: object;
  readonly hard: boolean;
  readonly alone: boolean;
}

const plain: readonly Sample[] = [{ carries: {}, hard: false, alone: false }];
const hard: readonly Sample[] = [{ carries: {}, hard: true, alone: false }];
const hardAndAlone: readonly Sample[] = [{ carries: { ledger }, hard: true, alone: true }];

const samples: Readonly<Partial<Record<EventType, readonly Sample[]>>> = {
  "run.accepted": hard,
  "run.refused": [{ carries: { charges: [] }, hard: true, alone: true }],
  "run.simulated": hard,
  "run.closed": hard,
  "run.released": plain,
  "run.turn_finished": plain,
  "run.branched": plain,
  "run.sub_agent_left": plain,
  "run.acts_left_above": plain,
  "run.replanned": hard,
  "cancel.requested": [...hard, { carries: { notices: [] }, hard: true, alone: false }],
  "run.restored": hard,
  "run.rolling_back": hard,
  "run.resumed": hard,
  "run.undone": hard,
  "run.verified": hard,
  "run.ended": [...plain, { carries: { notices: [] }, hard: true, alone: false }],
  "run.taken": plain,
  "run.rules_adopted": plain,
  "run.parked": [{ carries: { notices: [] }, hard: true, alone: false }],
  "run.poisoned": [{ carries: { notices: [] }, hard: true, alone: false }],
  "budget.alerted": [{ carries: { notices: [], charges: [] }, hard: true, alone: true }],
  "notice.delivered": plain,
  "notice.withdrawn": plain,
  "state.restored": [...hard, { carries: { state: {}, closings: [] }, hard: true, alone: true }],
  "step.proposed": plain,
  "step.started": [
    { carries: { ledger: null }, hard: true, alone: false },
    { carries: { ledger }, hard: true, alone: true },
    { carries: { ledger: null, charges: [] }, hard: true, alone: true },
  ],
  "step.succeeded": [
    ...plain,
    { carries: { charges: [] }, hard: false, alone: false },
    { carries: { ledger }, hard: true, alone: true },
    { carries: { notices: [] }, hard: true, alone: false },
    { carries: { closings: [] }, hard: true, alone: false },
    { carries: { state: {} }, hard: false, alone: true },
    { carries: { signal: {} }, hard: false, alone: true },
  ],
  "step.failed": [
    ...plain,
    { carries: { ledger }, hard: true, alone: true },
    { carries: { state: {} }, hard: false, alone: true },
    { carries: { signal: {} }, hard: false, alone: true },
  ],
  "step.cancelled": plain,
  "step.doubted": hardAndAlone,
  "step.probed": plain,
  "step.settled": [
    { carries: { ledger: null, settled: { as: "resend" } }, hard: false, alone: false },
    { carries: { ledger, settled: { as: "happened" } }, hard: true, alone: true },
  ],
  "step.readied": plain,
  "step.restoring": plain,
  "step.restored": plain,
  "step.rejected": plain,
  "step.parked": [
    { carries: { on: { for: "time", until: 1 } }, hard: false, alone: false },
    { carries: { on: { for: "signal", box, until: null } }, hard: false, alone: true },
  ],
  "step.compensating": hardAndAlone,
  "step.compensated": hardAndAlone,
  "step.uncompensated": hardAndAlone,
  "step.superseded": plain,
  "step.delegated": hard,
  "step.delivered": plain,
  "evidence.kept": plain,
  "gate.opened": hard,
  "gate.endorsed": hard,
  "gate.approved": [...hard, { carries: { naming: {} }, hard: true, alone: true }],
  "gate.amended": hard,
  "gate.escalated": [{ carries: { notices: [] }, hard: true, alone: false }],
  "gate.rejected": [...hard, { carries: { charges: [] }, hard: true, alone: false }],
  "gate.expired": hard,
  "gate.closed": hard,
  "gate.contested": [{ carries: {}, hard: true, alone: true }],
};

const types = Object.keys(eventTraits) as readonly EventType[];
const eventOf = (type: EventType, carries: object = {}) => ({ type, ...carries }) as unknown as Event;
const storedAt = (position: number, type: string) => ({ position, type }) as unknown as StoredEvent;

describe("an event's traits", () => {
  it.each(types)("decide how %s is appended", (type) => {
    for (const { carries, ...expected } of samples[type] ?? []) {
      const event = eventOf(type, carries);
      const alone = needsOwnEntry({ events: [event], checks: [] } as unknown as Decision);
      expect({ carries, hard: isHardEvent(event), alone }).toEqual({ carries, ...expected });
    }
  });

  it("have a sample for each type of event", () => {
    expect(Object.keys(samples)).toEqual(types);
  });

  it("give a decision with a check its own append", () => {
    const checks = [{ table: "setting", key: "pol_tenant", was: 1 }] as const;
    expect(needsOwnEntry({ events: [], checks } as unknown as Decision)).toBe(true);
  });

  it("list the events that are no progress", () => {
    const happened = { settled: { as: "happened" } };
    expect(types.filter((type) => !isProgress(eventOf(type, happened)))).toEqual([
      "run.released",
      "run.turn_finished",
      "run.sub_agent_left",
      "run.acts_left_above",
      "run.verified",
      "run.taken",
      "run.rules_adopted",
      "run.parked",
      "run.poisoned",
      "budget.alerted",
      "notice.delivered",
      "notice.withdrawn",
      "step.started",
      "step.doubted",
      "step.probed",
      "step.readied",
      "step.superseded",
      "step.delegated",
      "step.delivered",
      "evidence.kept",
      "gate.escalated",
      "gate.contested",
    ]);
  });

  it("hide only the delivery of a notice, the end of a turn and the release of a run from callers", () => {
    const hidden = ["run.released", "run.turn_finished", "notice.delivered"];
    expect(types.filter((type) => isNeverShown({ type }))).toEqual(hidden);
  });
});

describe("lastHardPosition", () => {
  it("includes the types that are always hard, and the end of a run", () => {
    expect(types.filter((type) => lastHardPosition([storedAt(1, type)], 0) === 0)).toEqual([
      "run.released",
      "run.turn_finished",
      "run.branched",
      "run.sub_agent_left",
      "run.acts_left_above",
      "run.taken",
      "run.rules_adopted",
      "run.parked",
      "run.poisoned",
      "notice.delivered",
      "notice.withdrawn",
      "step.proposed",
      "step.succeeded",
      "step.failed",
      "step.cancelled",
      "step.probed",
      "step.settled",
      "step.readied",
      "step.restoring",
      "step.restored",
      "step.rejected",
      "step.parked",
      "step.superseded",
      "step.delivered",
      "evidence.kept",
      "gate.escalated",
    ]);
  });

  it("includes the events that a run at rest has shown, also those of an unknown type", () => {
    const stored = [storedAt(1, "step.proposed"), storedAt(2, "step.moved"), storedAt(3, "notice.delivered")];
    expect([0, 1, 2, 3].map((rested) => lastHardPosition(stored, rested))).toEqual([0, 1, 2, 2]);
  });
});
