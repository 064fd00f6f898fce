import { describe, expect, it } from "vitest";
import { accepts, cancels, delivers, does, recovers, resumes, starts } from "../../testing/given/commands.ts";
import { plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given } from "../../testing/given/given.ts";
import type { RunRules } from "../event/run-rules.ts";
import { runStatus } from "../run/run.ts";
import { runResult } from "../run/run-result.ts";
import { runDueAt } from "../run/run-wakeups.ts";
import { rulesRequirement, workerRequirements } from "../run/worker-requirements.ts";
import type { Digest, WorkerId } from "../values/ids.ts";
import type { Command } from "./command.ts";

const [old, edited, other] = ["0ld", "ed1ted", "0ther"] as unknown as readonly [Digest, Digest, Digest];
const worker = "worker-2" as WorkerId;

/** A worker with these rules recovers the run. */
const recoversUnder =
  (digest: Digest): GivenAction =>
  (scenario: GivenRun): Command =>
    ({ ...recovers()(scenario), rules: { worker, digest } }) as Command;

const acceptedUnder = (rules: RunRules | null, ...moves: readonly GivenAction[]): GivenRun =>
  given(
    accepts(plan(step("a", { tool: readPage }), step("b", { tool: sendMail })), rules === null ? {} : { rules }),
  ).when(...moves);

describe("a worker that recovers a run with other rules", () => {
  it("adopts the run on record, and the run carries its rules from then on", () => {
    const scenario = acceptedUnder({ digest: old }, recoversUnder(edited));
    expect(scenario.newEvent("run.rules_adopted")).toMatchObject({ from: old, to: edited, by: worker });
    expect(scenario.run.rules).toEqual({ digest: edited });
    expect(runDueAt(scenario.run)).toBe(scenario.run.accepted_at);
  });

  it("reports a run of an older version, which carries no rules, once", () => {
    const scenario = acceptedUnder(null, recoversUnder(edited));
    expect(scenario.newEvent("run.rules_adopted")).toMatchObject({ from: null, to: edited });
    expect(scenario.when(recoversUnder(edited)).newEvents).toEqual([]);
  });

  it("adopts no run with its own rules, and no ended run", () => {
    expect(acceptedUnder({ digest: old }, recoversUnder(old)).newEvents).toEqual([]);
    expect(acceptedUnder({ digest: old }, cancels).when(recoversUnder(edited)).newEvents).toEqual([]);
  });
});

describe("a run with pinned rules", () => {
  const pinned = { digest: old, pinned: true } as const;
  const parked = (...moves: readonly GivenAction[]) => acceptedUnder(pinned, recoversUnder(edited), ...moves);

  it("is parked with a notice, and nothing of it starts", () => {
    const scenario = parked();
    expect(scenario.newEvent("run.parked")).toMatchObject({ from: old, to: edited, by: worker });
    expect(scenario.newEvent("run.parked").notices).toMatchObject([{ topic: "run.parked" }]);
    expect([runStatus(scenario.run), runDueAt(scenario.run)]).toEqual(["waiting", null]);
    expect(scenario.when(starts("a")).newEvents).toEqual([]);
    const { rules_missing, next, final } = runResult(scenario.run);
    expect([rules_missing, final]).toEqual([{ since: scenario.now, from: old, to: edited }, false]);
    expect(next).toContain("start a worker with the rules of the run");
  });

  it("can be claimed by a worker that has the rules, which continues it", () => {
    const scenario = parked();
    expect(workerRequirements(scenario.run)).toEqual(["notice", rulesRequirement(old)]);
    const continued = scenario.when(recoversUnder(old));
    expect(continued.newEvent("run.rules_adopted")).toMatchObject({ from: old, to: old });
    expect([continued.run.parked, continued.run.rules]).toEqual([null, pinned]);
  });

  it("stays parked for a worker that only delivers its notice", () => {
    const scenario = parked();
    expect(scenario.when(recoversUnder(other)).newEvents).toEqual([]);
    const [notice] = scenario.newEvent("run.parked").notices;
    expect(scenario.when(delivers(notice?.notice_id ?? "")).run.parked).not.toBeNull();
  });

  it("continues under the rules that were found if a person resumes it, and is parked again under others", () => {
    const resumed = parked(resumes);
    expect([resumed.run.parked, resumed.run.rules]).toEqual([null, { digest: edited, pinned: true }]);
    expect(resumed.when(recoversUnder(edited)).newEvents).toEqual([]);
    expect(resumed.when(does("a")).run.succeeded).toBe(1);
    expect(resumed.when(recoversUnder(other)).newEvent("run.parked")).toMatchObject({ from: edited, to: other });
  });

  it("can be cancelled", () => {
    expect(runStatus(parked(cancels).run)).toBe("cancelled");
  });
});
