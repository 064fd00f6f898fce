import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runResult } from "../../../src/core/run/run-result.ts";
import {
  accepts,
  answers,
  approves,
  does,
  fails,
  rejects,
  starts,
  timesOut,
} from "../../../src/testing/given/commands.ts";
import { ana, keepNote, plan, readPage, sendMail, step } from "../../../src/testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given, pass } from "../../../src/testing/given/given.ts";
import { driveRandomRun, randomPlan } from "../../../src/testing/given/random-run.ts";
import { RunView } from "./run-view.ts";
import { storyLine } from "./story.ts";
import { phaseTotals, queueDelay, waterfallRows } from "./waterfall.ts";

function viewOf({ run, events }: Pick<GivenRun, "run" | "events">): RunView {
  const view = new RunView(run.id);
  for (const [at, event] of events.entries()) view.add({ position: at + 1, event });
  return view;
}

const sent = step("send", { tool: sendMail });
const planned = plan(step("read", { tool: readPage }), { ...sent, depends_on: ["read" as never] });
const gated = (...moves: readonly GivenAction[]): RunView =>
  viewOf(given(accepts(planned, { mode: "human_gated" })).when(...moves));
const at = (view: RunView, id: string): number => view.find(id) ?? -1;
const historyOf = (view: RunView, id: string) => view.history(at(view, id));
const phasesOf = (view: RunView, id: string) => historyOf(view, id).phases.map(({ kind }) => kind);

describe("the view of a run", () => {
  it("has the result that the engine has, and phases that follow each other, in any run", () => {
    const choice = fc.tuple(fc.nat(1000), fc.nat(1000));
    fc.assert(
      fc.property(fc.array(choice, { maxLength: 5 }), fc.array(choice, { maxLength: 25 }), (made, taken) => {
        const driven = driveRandomRun(randomPlan(made), taken);
        const view = viewOf(driven);
        expect(view.result()).toEqual(runResult(driven.run));
        for (let index = 0; index < view.length; index += 1) expectOrderedPhases(view, index);
      }),
      { numRuns: 150 },
    );
  });

  it("does not change with an event that it has", () => {
    const view = gated(does("read"));
    const [first] = view.entries;
    expect(view.add(first as (typeof view.entries)[number]).size).toBe(0);
    expect(view.entries).toHaveLength(view.position);
  });

  it("changes the step of an event and those that it makes ready, and no other", () => {
    const steps = Array.from({ length: 40 }, (_, each) =>
      step(`s${each}`, { after: each === 0 ? [] : [`s${each - 1}`] }),
    );
    const { events } = given(accepts(plan(...steps))).when(does("s0"), does("s1"));
    const view = new RunView("run_hire");
    const changed = events.map((event, index) => [...view.add({ position: index + 1, event })]);
    expect(changed.slice(1)).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });
});

function expectOrderedPhases(view: RunView, index: number): void {
  const { phases } = view.history(index);
  for (const [place, { from, until }] of phases.entries()) {
    expect(until === null).toBe(place === phases.length - 1 && isLive(view, index));
    if (until !== null) expect(until).toBeGreaterThanOrEqual(from);
    const next = phases[place + 1];
    if (next !== undefined) expect(next.from).toBeGreaterThanOrEqual(until ?? Number.POSITIVE_INFINITY);
  }
}

function isLive(view: RunView, index: number): boolean {
  const { state } = view.step(index).standing;
  return ["ready", "running", "waiting", "waiting_approval", "failed_retryable", "in_doubt", "compensating"].includes(
    state,
  );
}

describe("the history of a step", () => {
  it("has the wait for a person, and the vote", () => {
    const view = gated(
      does("read"),
      starts("send"),
      pass(60_000),
      approves("send"),
      pass(5),
      starts("send"),
      pass(20),
      answers("send"),
    );
    expect(phasesOf(view, "send")).toEqual(["queued", "person", "queued", "running"]);
    expect(phaseTotals(historyOf(view, "send"), 0)).toMatchObject({ person: 60_000, queued: 5, running: 20 });
    const [gate] = historyOf(view, "send").gates;
    expect(gate).toMatchObject({ status: "approved", votes: [{ by: ana, says: "approve" }] });
  });

  it("says by which rule a call was held, who allowed it, and who refused it", () => {
    const view = gated(does("read"), starts("send"), rejects("send"));
    const verdicts = historyOf(view, "send").verdicts.map(({ decision, who }) => [decision, who]);
    expect(verdicts).toEqual([
      ["held", "a person"],
      ["rejected", "ana"],
    ]);
    expect(historyOf(view, "send").gates[0]?.status).toBe("rejected");
  });

  it("has every attempt with its times and its fault", () => {
    const flaky = plan(step("read", { tool: readPage, on_failure: "retry", retries: 2 }));
    const view = viewOf(
      given(accepts(flaky)).when(
        starts("read"),
        pass(7),
        fails("read", "RATE_LIMIT"),
        pass(90_000),
        starts("read"),
        answers("read"),
      ),
    );
    const attempts = historyOf(view, "read").attempts.map(({ number, outcome, fault }) => [
      number,
      outcome,
      fault?.code,
    ]);
    expect(attempts).toEqual([
      [1, "failed", "RATE_LIMIT"],
      [2, "succeeded", undefined],
    ]);
    expect(phasesOf(view, "read")).toContain("retrying");
  });

  it("has the exact input, the output and the ledger row of an act", () => {
    const view = viewOf(given(accepts(plan(step("send", { tool: sendMail })))).when(does("send", { id: "m1" })));
    const history = historyOf(view, "send");
    expect(history).toMatchObject({ input: {}, output: { id: "m1" }, hasOutput: true });
    expect(history.call?.key).toBe(view.step(0).call?.key);
    expect(view.step(0).act).toMatchObject({ state: "committed", receipt: 3 });
  });

  it("keeps the execution that only the event of its end tells", () => {
    const view = viewOf(
      given(accepts(plan(step("keep", { tool: keepNote })))).when(starts("keep"), pass(12), answers("keep")),
    );
    expect(phasesOf(view, "keep")).toEqual(["queued", "running"]);
    expect(queueDelay(historyOf(view, "keep"))).toBe(0);
  });

  it("has the doubt and its evidence", () => {
    const view = viewOf(given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"), timesOut("send")));
    expect(historyOf(view, "send").attempts.at(-1)?.outcome).toBe("in doubt");
    expect(phasesOf(view, "send").at(-1)).toBe("doubt");
  });
});

describe("the waterfall and the story", () => {
  it("list steps in the order in which they became ready", () => {
    const view = gated(does("read"), pass(10), starts("send"));
    expect(waterfallRows(view, view.updated_at ?? 0).map(({ index }) => view.step(index).spec.step_id)).toEqual([
      "read",
      "send",
    ]);
  });

  it("name the step of a gate", () => {
    const view = gated(does("read"), starts("send"), approves("send"));
    const lines = view.entries.map((entry) => storyLine(view, entry));
    expect(lines.at(-1)).toMatchObject({ type: "gate.approved", step_id: "send", tone: "person" });
    expect(lines[0]).toMatchObject({ type: "run.accepted", step_id: null });
  });
});
