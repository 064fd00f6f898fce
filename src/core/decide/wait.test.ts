import { describe, expect, it } from "vitest";
import { hire, later, plan, step, wait } from "../../testing/given/cast.ts";
import { accepts, starts } from "../../testing/given/moves.ts";
import { given, pass, type Telling } from "../../testing/given.ts";
import type { Instant, RunId, StepId } from "../id.ts";
import type { BoxVersion } from "../parking.ts";
import { resultOf } from "../result.ts";

const box = (said: Partial<BoxVersion> = {}): BoxVersion => ({
  key: "paid",
  version: 0,
  sent: 0,
  taken: 0,
  waiters: [],
  ...said,
});
const next = { signal_id: "sig_1", payload: { amount: 100 }, by: "ana", at: 7 as Instant };
const waiting = (payload = {}) =>
  given(accepts(plan(wait("w", { signal: "paid", ...payload }), step("a", { after: ["w"] }))));
const me = { run_id: hire, step_id: "w" as StepId };
const other = { run_id: "run_other" as RunId, step_id: "v" as StepId };

const sent =
  (said: Partial<BoxVersion>, request: { key: string; digest: never } | null = null): Telling =>
  ({ now }) => ({
    type: "signal",
    now,
    signal_id: "sig_2",
    step_id: "w" as StepId,
    box: box(said),
    payload: { amount: 100 },
    by: "ana",
    request,
    in_flight: [],
  });

describe("a wait for a signal", () => {
  it("takes what was sent before it began, and leaves the rest", () => {
    const told = waiting().when(starts("w", { signal: { box: box({ sent: 3, taken: 1, waiters: [other] }), next } }));
    expect(told.said("step.succeeded")).toMatchObject({
      output: { signal: { amount: 100 }, by: "ana", sent_at: 7 },
      signal: { signal_id: "sig_1", version: 1, sent: 3, taken: 2, waiters: [other], request: null },
    });
    expect(told.standing("a")).toEqual({ state: "ready" });
  });

  it("waits behind those who wait already, as long as it takes", () => {
    const told = waiting().when(starts("w", { signal: { box: box({ waiters: [other] }), next: null } }));
    const on = { for: "signal", box: box({ version: 1, waiters: [other, me] }), until: null };
    expect(told.standing("w")).toEqual({ state: "waiting", on });
    expect(told.when(pass(10 ** 9), starts("w")).news).toEqual([]);
  });

  it("waits no longer than it may, and then says that nothing came", () => {
    const told = waiting({ ms: 5000 }).when(starts("w", { signal: { box: box(), next: null } }));
    const blocked = { step_id: "w", reason_code: "WAITING_FOR_SIGNAL", signal: "paid" };
    expect(resultOf(told.run).blocked_on).toEqual([{ ...blocked, until: later(5000) }]);
    expect(told.standing("w")).toMatchObject({ on: { until: later(5000) } });
    const over = told.when(pass(5000), starts("w"));
    expect(over.said("step.succeeded")).toMatchObject({ output: { waited_until: later(5000), signal: null } });
    const late = waiting({ until: later(-1) });
    expect(late.when(starts("w", { signal: { box: box(), next: null } })).types).toEqual(["step.succeeded"]);
    const early = late.when(starts("w", { signal: { box: box({ sent: 1 }), next } }));
    expect(early.said("step.succeeded")).toMatchObject({ output: { signal: { amount: 100 } } });
  });

  it("is refused where a hundred wait already", () => {
    const full = (count: number) => box({ waiters: Array.from({ length: count }, () => other) });
    const told = (count: number) => waiting().when(starts("w", { signal: { box: full(count), next: null } }));
    expect(told(99).types).toEqual(["step.parked"]);
    expect(told(100).said("step.rejected")).toMatchObject({ rule: "signal", fault: { code: "LIMIT_EXCEEDED" } });
  });
});

describe("a signal", () => {
  const parked = waiting().when(starts("w", { signal: { box: box(), next: null } }));

  it("ends the wait it is for, and its row is who still waits", () => {
    const request = { key: "evt-1", digest: "d1" as never };
    const told = parked.when(pass(9), sent({ version: 1, waiters: [other] }, request));
    expect(told.said("step.succeeded")).toMatchObject({
      output: { signal: { amount: 100 }, by: "ana", sent_at: later(9) },
      world: "pure",
      signal: { signal_id: "sig_2", version: 2, sent: 0, taken: 0, waiters: [other], request },
    });
    expect(told.standing("a")).toEqual({ state: "ready" });
    const rows = [...told.rows]
      .filter(([name]) => /signal/.test(name))
      .map(([, { version, row }]) => [version, JSON.parse(row)]);
    expect(rows).toEqual([
      [2, { run_id: hire, sent: 0, taken: 0, waiters: [other] }],
      [1, { run_id: hire, digest: "d1" }],
    ]);
  });

  it("is nothing to a step that waits for another, has gone on, or was never there", () => {
    expect(parked.when(sent({ key: "cancelled", version: 1 })).news).toEqual([]);
    expect(parked.when(sent({ version: 1 }), sent({ version: 2 })).types).toEqual(["step.succeeded"]);
    expect(waiting().when(sent({})).news).toEqual([]);
    expect(given(accepts(plan(step("a")))).when(sent({})).news).toEqual([]);
    const timed = given(accepts(plan(wait("w", { ms: 5 })))).when(starts("w"));
    expect(timed.when(sent({})).news).toEqual([]);
  });
});
