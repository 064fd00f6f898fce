import { describe, expect, it } from "vitest";
import { ana, noon, plan, readPage, sendMail, step } from "../../testing/given/cast.ts";
import {
  accepts,
  cancels,
  delivers,
  does,
  fails,
  recovers,
  resumes,
  settles,
  starts,
} from "../../testing/given/moves.ts";
import { given, type Move, pass, type Told } from "../../testing/given.ts";
import type { Command, Taking } from "../command.ts";
import type { Epoch, WorkerId } from "../id.ts";
import { needsOf } from "../need.ts";
import { resultOf } from "../result.ts";
import { dueAt, nextWake, statusOf } from "../run.ts";

const worker = (nth: number) => `worker-${nth}` as WorkerId;
const taking = (nth: number): Taking => ({ by: worker(nth), from: worker(nth - 1), epoch: nth as Epoch, most: 3 });

/** The nth worker takes the run from the one before it, which never let it go. */
const takes =
  (nth: number, running: string | null = null): Move =>
  (told: Told): Command =>
    ({ ...recovers(...(running === null ? [] : [{ id: running }]))(told), taken: taking(nth) }) as Command;

const reading = (...moves: readonly Move[]): Told =>
  given(accepts(plan(step("a", { tool: readPage }), step("b", { after: ["a"] })))).when(...moves);
const poisoned = (): Told => reading(takes(2), takes(3), takes(4));

describe("a run that is taken from a worker that never let it go", () => {
  it("says by whom and from whom, how far it had got and what may have been under way", () => {
    const told = reading(does("a"), pass(9), takes(2));
    expect(told.said("run.taken")).toMatchObject({ by: worker(2), from: worker(1), epoch: 2, steps: ["b"] });
    expect(told.run.takeovers).toMatchObject([{ at: noon + 9, position: 3 }]);
    expect(statusOf(told.run)).toBe("running");
  });

  it("names ten of the steps that may have been under way, however many there were", () => {
    const ids = Array.from({ length: 12 }, (_, nth) => `s${nth}`);
    const told = given(accepts(plan(...ids.map((id) => step(id, { tool: readPage }))))).when(takes(2));
    expect(told.said("run.taken").steps).toEqual(ids.slice(0, 10));
  });

  it("is parked by the third in turn with nothing to show, with a message for whoever is told", () => {
    expect(reading(takes(2), takes(3)).run.poison).toBeNull();
    const told = poisoned();
    const notices = told.said("run.poisoned").notices;
    expect(notices).toMatchObject([{ topic: "run.poisoned", payload: { takeovers: 3, steps: ["a"] } }]);
    expect(statusOf(told.run)).toBe("poison");
    expect(dueAt(told.run)).toBeNull();
    expect(needsOf(told.run)).toEqual(["notice"]);
    expect(needsOf(told.when(delivers(notices[0]?.notice_id ?? "")).run)).toEqual([]);
  });

  it("names those that were to be tried again, and tells of it under an id that no step's notice has", () => {
    const told = given(accepts(plan(step("a", { tool: readPage }), step("b", { after: ["a"] })))).when(
      starts("a"),
      fails("a", "RATE_LIMIT"),
      takes(2),
      takes(3),
      takes(4),
    );
    const { notices, ...poisoned } = told.said("run.poisoned");
    expect(poisoned).toMatchObject({ type: "run.poisoned" });
    expect(notices).toMatchObject([{ notice_id: `ntc_hire_!poison_${told.run.position}`, payload: { steps: ["a"] } }]);
  });

  it("is counted anew once it has come further", () => {
    expect(reading(takes(2), takes(3), does("a"), takes(4), takes(5)).run.poison).toBeNull();
    expect(reading(takes(2), takes(3), starts("a"), fails("a", "RATE_LIMIT"), takes(4)).run.poison).toBeNull();
  });

  it("is not taken from anyone while it has nothing to do", () => {
    const waiting = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" })).when(
      starts("send"),
    );
    expect(waiting.when(takes(2)).news).toEqual([]);
    expect(reading(does("a"), does("b")).when(takes(2)).news).toEqual([]);
  });

  it("has come no further by a call that began, was cut off, and may be made again", () => {
    const promises = { ...sendMail, idempotentForMs: 600_000 };
    const told = given(accepts(plan(step("send", { tool: promises })))).when(
      starts("send"),
      takes(2, "send"),
      settles("send", null),
      starts("send"),
      takes(3, "send"),
      pass(1000),
      settles("send", null),
      starts("send"),
      takes(4, "send"),
    );
    expect(told.run.poison).not.toBeNull();
  });
});

describe("a parked run", () => {
  it("starts nothing and settles nothing, and no timer of it rings", () => {
    const told = poisoned();
    expect(told.when(starts("a")).news).toEqual([]);
    expect(told.when(starts("a")).decision.grant).toBeNull();
    const wakes = reading(starts("a"), fails("a", "RATE_LIMIT"), pass(3000), takes(2), takes(3), takes(4));
    expect(nextWake(wakes.run)).toBeNull();
  });

  it("leaves an act that was in flight in doubt, and does not look for it", () => {
    const looks = { ...sendMail, verifies: true };
    const told = given(accepts(plan(step("send", { tool: looks }), step("a")))).when(
      takes(2),
      takes(3),
      starts("send"),
      takes(4, "send"),
    );
    expect(told.states).toMatchObject({ send: "in_doubt" });
    expect(told.when(settles("send", { saw: "absent" })).news).toEqual([]);
  });

  it("shows who lost it and what can be done", () => {
    const result = resultOf(poisoned().run);
    expect(result).toMatchObject({ status: "partial", final: false, poison: { since: noon } });
    expect(result.poison?.takeovers.map(({ from }) => from)).toEqual([worker(1), worker(2), worker(3)]);
    expect(result.next).toContain("resume run");
    expect(resultOf(reading(takes(2)).run)).not.toHaveProperty("poison");
  });

  it("goes on when a person resumes it, with its losses forgiven and all else as it was", () => {
    const told = poisoned().when(resumes);
    expect(told.said("run.resumed")).toMatchObject({ by: ana.id });
    expect(told.run).toMatchObject({ poison: null, takeovers: [] });
    expect(told.when(does("a"), does("b")).run.ended?.status).toBe("completed");
    expect(told.when(takes(5), takes(6)).run.poison).toBeNull();
    expect(told.when(takes(5), takes(6), takes(7)).run.poison).not.toBeNull();
  });

  it("brings back nothing that had failed before it was parked", () => {
    const failing = plan(step("a", { on_failure: "skip" }), step("b"));
    const told = given(accepts(failing)).when(starts("a"), fails("a", "POLICY_DENIED"), takes(2), takes(3), takes(4));
    expect(told.when(resumes).states).toEqual({ a: "failed_final", b: "ready" });
  });

  it.each(["agent", "service"] as const)("is not resumed by an %s", (kind) => {
    const told = poisoned();
    const asked = { type: "resume", now: told.now, principal: { ...ana, kind }, reason: "" } as const;
    expect(told.when(asked).decision.refusal).toMatchObject({ code: "AUTH_FORBIDDEN" });
    expect(told.when(asked).run.poison).not.toBeNull();
  });

  it("can be cancelled, and is then what any cancelled run is", () => {
    const { run } = poisoned().when(cancels);
    expect(statusOf(run)).toBe("cancelled");
    expect(resultOf(run)).not.toHaveProperty("poison");
  });
});
