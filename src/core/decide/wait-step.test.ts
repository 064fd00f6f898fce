import { describe, expect, it } from "vitest";
import { accepts, starts } from "../../testing/given/commands.ts";
import { hireRun, later, plan, planWait, step } from "../../testing/given/fixtures.ts";
import { type CommandFrom, given, pass } from "../../testing/given/given.ts";
import type { SignalBoxVersion } from "../event/step-parking.ts";
import { runResult } from "../run/run-result.ts";
import type { Instant, RunId, StepId } from "../values/ids.ts";

const box = (fields: Partial<SignalBoxVersion> = {}): SignalBoxVersion => ({
  key: "paid",
  version: 0,
  sent: 0,
  taken: 0,
  waiters: [],
  ...fields,
});
const next = { signal_id: "sig_1", payload: { amount: 100 }, by: "ana", at: 7 as Instant };
const waiting = (payload = {}) =>
  given(accepts(plan(planWait("w", { signal: "paid", ...payload }), step("a", { after: ["w"] }))));
const me = { run_id: hireRun, step_id: "w" as StepId };
const other = { run_id: "run_other" as RunId, step_id: "v" as StepId };

const sent =
  (fields: Partial<SignalBoxVersion>, request: { key: string; digest: never } | null = null): CommandFrom =>
  ({ now }) => ({
    type: "signal",
    now,
    signal_id: "sig_2",
    step_id: "w" as StepId,
    box: box(fields),
    payload: { amount: 100 },
    by: "ana",
    request,
    in_flight: [],
  });

describe("a wait for a signal", () => {
  it("takes one signal that was sent before it started, and leaves the others", () => {
    const scenario = waiting().when(
      starts("w", { signal: { box: box({ sent: 3, taken: 1, waiters: [other] }), next } }),
    );
    expect(scenario.newEvent("step.succeeded")).toMatchObject({
      output: { signal: { amount: 100 }, by: "ana", sent_at: 7 },
      signal: { signal_id: "sig_1", version: 1, sent: 3, taken: 2, waiters: [other], request: null },
    });
    expect(scenario.standing("a")).toEqual({ state: "ready" });
  });

  it("waits after the steps that already wait, without a time limit", () => {
    const scenario = waiting().when(starts("w", { signal: { box: box({ waiters: [other] }), next: null } }));
    const on = { for: "signal", box: box({ version: 1, waiters: [other, me] }), until: null };
    expect(scenario.standing("w")).toEqual({ state: "waiting", on });
    expect(scenario.when(pass(10 ** 9), starts("w")).newEvents).toEqual([]);
  });

  it("ends at its time limit without a signal", () => {
    const scenario = waiting({ ms: 5000 }).when(starts("w", { signal: { box: box(), next: null } }));
    const blocked = { step_id: "w", reason_code: "WAITING_FOR_SIGNAL", signal: "paid" };
    expect(runResult(scenario.run).blocked_on).toEqual([{ ...blocked, until: later(5000) }]);
    expect(scenario.standing("w")).toMatchObject({ on: { until: later(5000) } });
    const over = scenario.when(pass(5000), starts("w"));
    expect(over.newEvent("step.succeeded")).toMatchObject({ output: { waited_until: later(5000), signal: null } });
    const late = waiting({ until: later(-1) });
    expect(late.when(starts("w", { signal: { box: box(), next: null } })).newEventTypes).toEqual(["step.succeeded"]);
    const early = late.when(starts("w", { signal: { box: box({ sent: 1 }), next } }));
    expect(early.newEvent("step.succeeded")).toMatchObject({ output: { signal: { amount: 100 } } });
  });

  it("is refused if a hundred steps already wait", () => {
    const full = (count: number) => box({ waiters: Array.from({ length: count }, () => other) });
    const scenario = (count: number) => waiting().when(starts("w", { signal: { box: full(count), next: null } }));
    expect(scenario(99).newEventTypes).toEqual(["step.parked"]);
    expect(scenario(100).newEvent("step.rejected")).toMatchObject({
      rule: "signal",
      fault: { code: "LIMIT_EXCEEDED" },
    });
  });
});

describe("a signal", () => {
  const parked = waiting().when(starts("w", { signal: { box: box(), next: null } }));

  it("ends the wait, and its row lists the steps that still wait", () => {
    const request = { key: "evt-1", digest: "d1" as never };
    const scenario = parked.when(pass(9), sent({ version: 1, waiters: [other] }, request));
    expect(scenario.newEvent("step.succeeded")).toMatchObject({
      output: { signal: { amount: 100 }, by: "ana", sent_at: later(9) },
      world: "pure",
      signal: { signal_id: "sig_2", version: 2, sent: 0, taken: 0, waiters: [other], request },
    });
    expect(scenario.standing("a")).toEqual({ state: "ready" });
    const rows = [...scenario.rows]
      .filter(([name]) => /signal/.test(name))
      .map(([, { version, row }]) => [version, JSON.parse(row)]);
    expect(rows).toEqual([
      [2, { run_id: hireRun, sent: 0, taken: 0, waiters: [other] }],
      [1, { run_id: hireRun, digest: "d1" }],
    ]);
  });

  it("does not change a step that waits for another signal, has ended, or does not exist", () => {
    expect(parked.when(sent({ key: "cancelled", version: 1 })).newEvents).toEqual([]);
    expect(parked.when(sent({ version: 1 }), sent({ version: 2 })).newEventTypes).toEqual(["step.succeeded"]);
    expect(waiting().when(sent({})).newEvents).toEqual([]);
    expect(given(accepts(plan(step("a")))).when(sent({})).newEvents).toEqual([]);
    const timed = given(accepts(plan(planWait("w", { ms: 5 })))).when(starts("w"));
    expect(timed.when(sent({})).newEvents).toEqual([]);
  });
});
