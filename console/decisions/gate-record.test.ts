import { describe, expect, it } from "vitest";
import type { Event } from "../../src/core/event/event.ts";
import { gateRecord } from "./gate-record.ts";

const opened = {
  type: "gate.opened",
  gate_id: "gate_1",
  at: 10,
  rule: "acts.ask",
  reason: "mail leaves the house",
} as unknown as Event;
const rejected = {
  type: "gate.rejected",
  gate_id: "gate_1",
  at: 20,
  by: { id: "ana" },
  reason: "wrong address",
} as unknown as Event;

describe("the record of a gate", () => {
  it("has the rules that held the call, and its decisions", () => {
    expect(gateRecord([opened, { ...rejected, gate_id: "gate_2" } as Event, rejected], "gate_1")).toEqual({
      opened_at: 10,
      rule: "acts.ask",
      objections: [{ rule: "acts.ask", says: "hold", reason: "mail leaves the house" }],
      passed: [],
      decisions: [{ how: "rejected", by: "ana", reason: "wrong address", at: 20 }],
    });
  });

  it("is null if the events do not have the gate", () => {
    expect(gateRecord([rejected], "gate_1")).toBeNull();
  });
});
