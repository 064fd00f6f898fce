import { describe, expect, it } from "vitest";
import type { Event } from "../../src/core/event/event.ts";
import { callOutcome } from "./call-outcome.ts";

const events = (...given: readonly object[]) =>
  given.map((event, at) => ({ step_id: "a", at, ...event }) as unknown as Event);
const approved = { type: "gate.approved", gate_id: "gate_1", step_id: undefined };
const outcomeOf = (...given: readonly object[]) => callOutcome(events(...given), "gate_1", "a");

describe("the outcome of an approved call", () => {
  it("is null before the approval, and for another gate", () => {
    expect(outcomeOf({ type: "step.started" })).toBeNull();
    expect(outcomeOf({ ...approved, gate_id: "gate_2" }, { type: "step.started" })).toBeNull();
  });

  it.each([
    [[], { is: "waiting" }],
    [[{ type: "step.started" }], { is: "running" }],
    [[{ type: "step.started" }, { type: "step.succeeded", output: { id: 1 } }], { is: "succeeded", output: { id: 1 } }],
    [[{ type: "step.failed", fault: { message: "no route" } }], { is: "failed", text: "no route" }],
    [[{ type: "step.doubted", fault: { message: "no answer" } }], { is: "in_doubt", text: "no answer" }],
    [
      [
        { type: "step.doubted", fault: { message: "" } },
        { type: "step.settled", settled: { as: "give_up" }, reason: "r" },
      ],
      { is: "settled", text: "settled as give up: r" },
    ],
    [[{ type: "step.succeeded", output: 1, step_id: "b" }], { is: "waiting" }],
  ])("after %j is %j", (given, expected) => expect(outcomeOf(approved, ...given)).toMatchObject(expected));
});
