import { describe, expect, it } from "vitest";
import {
  accepts,
  approves,
  cancels,
  does,
  fails,
  recovers,
  resolves,
  resumes,
  settles,
  starts,
} from "../../testing/given/commands.ts";
import { ana, cron, noon, plan, readPage, robin, sendMail, step } from "../../testing/given/fixtures.ts";
import { type CommandFrom, type GivenAction, type GivenRun, given, pass } from "../../testing/given/given.ts";
import { runStatus } from "../run/run.ts";
import { runResult } from "../run/run-result.ts";
import { runDueAt } from "../run/run-wakeups.ts";
import type { Digest, WorkerId } from "../values/ids.ts";
import type { Command } from "./command.ts";

const restoration = { incarnation: "inc_2", backup_at: noon };
const parks: CommandFrom = ({ now }) => ({ type: "park", now, principal: ana, reason: "disk lost", restoration });
const verifiable = { ...sendMail, verifies: true };

const mailing = (...moves: readonly GivenAction[]): GivenRun =>
  given(accepts(plan(step("a", { tool: readPage }), step("m", { tool: sendMail, after: ["a"] })))).when(...moves);

describe("a run that was in a restored backup", () => {
  it("is parked with the principal, the reason and the time of the backup, and starts nothing", () => {
    const restored = mailing(parks);
    expect(restored.newEvents).toEqual([
      { type: "run.restored", at: noon, by: "ana", reason: "disk lost", ...restoration },
    ]);
    expect([runStatus(restored.run), runDueAt(restored.run)]).toEqual(["restored", null]);
    expect(restored.when(starts("a")).newEvents).toEqual([]);
    expect(runResult(restored.run).restored).toEqual({ since: noon, ...restoration });
  });

  it("is released by a person only", () => {
    for (const principal of [robin, cron])
      expect(
        mailing(parks, (scenario) => ({ ...resumes(scenario), principal }) as Command).decision.refusal?.code,
      ).toBe("AUTH_FORBIDDEN");
    expect(runStatus(mailing(parks, resumes).run)).toBe("running");
  });

  it("is parked once per restore", () => {
    expect(mailing(parks, parks).newEvents).toHaveLength(1);
  });

  it("does its reads again after the release, and holds each act for a person, with the reason", () => {
    const released = mailing(parks, resumes, does("a"), starts("m"));
    expect(released.newEvent("gate.opened")).toMatchObject({
      rule: "restored_acts",
      reason: expect.stringMatching(/restored from a backup of 2026-03-14[ T]12:00.*, and the act may have been done/),
    });
    const approved = released.when(approves("m"), starts("m"));
    expect(approved.isGranted("m")).toBe(true);
  });

  it("holds a call that was approved before the backup, because the approval may have been used after it", () => {
    const held = given(accepts(plan(step("m", { tool: sendMail, gate: "human_confirm" })))).when(starts("m"));
    for (const before of [held, held.when(approves("m"))]) {
      const restored = before.when(parks, resumes);
      expect(restored.states).toEqual({ m: "ready" });
      expect(restored.when(starts("m")).newEvent("gate.opened").rule).toBe("restored_acts");
    }
  });

  it("closes a gate that was open at the backup: its reason does not mention the restore", () => {
    const held = given(accepts(plan(step("m", { tool: sendMail, gate: "human_confirm" })))).when(starts("m"), parks);
    expect(held.newEventTypes).toEqual(["gate.opened", "run.restored", "gate.closed"]);
  });

  it("has an act in doubt that was running at the backup, although its send marker is missing", () => {
    const restored = mailing(does("a"), starts("m"), parks);
    expect(restored.standing("m").state).toBe("in_doubt");
    const recovered = restored.when(resumes, recovers({ id: "m", mark: "no" }));
    expect(recovered.standing("m").state).toBe("in_doubt");
  });

  it("verifies an act in doubt after the release, and holds it if the act is absent", () => {
    const doubted = given(accepts(plan(step("m", { tool: verifiable })))).when(starts("m"), parks, resumes);
    const checked = doubted.when(
      recovers({ id: "m", tool: verifiable }),
      pass(120_000),
      settles("m", { saw: "absent" }),
    );
    const absent = checked.when(pass(3_600_000), settles("m", { saw: "absent" }));
    expect(absent.standing("m").state).toBe("ready");
    expect(absent.when(starts("m")).newEvent("gate.opened").rule).toBe("restored_acts");
  });

  it("holds an act that a person settled as absent, and a retry of an act that was not done", () => {
    const settled = mailing(does("a"), starts("m"), parks, resumes, resolves("m", { as: "absent" }), starts("m"));
    expect(settled.newEvent("gate.opened").rule).toBe("restored_acts");
  });

  it("reuses the receipts of acts that the backup contains", () => {
    const twice = given(accepts(plan(step("m", { tool: sendMail }), step("n", { tool: sendMail, after: ["m"] }))));
    const restored = twice.when(does("m"), parks, resumes);
    expect(restored.states).toEqual({ m: "succeeded", n: "ready" });
  });

  it("is marked also if it had ended, and holds its acts if it is resumed", () => {
    const failed = given(
      accepts(plan(step("a", { tool: readPage }), step("m", { tool: sendMail, after: ["a"] }))),
    ).when(starts("a"), fails("a"));
    const restored = failed.when(parks);
    expect(runStatus(restored.run)).toBe("failed");
    const resumed = restored.when(resumes, does("a"), starts("m"));
    expect(resumed.newEvent("gate.opened").rule).toBe("restored_acts");
  });

  it("stays parked when a worker with other rules delivers its notices", () => {
    const rules = { worker: "worker-2" as WorkerId, digest: "other" as Digest };
    const recovered = mailing(parks, (scenario) => ({ ...recovers()(scenario), rules }) as Command);
    expect(runStatus(recovered.run)).toBe("restored");
  });

  it("can be cancelled while it is parked", () => {
    expect(runStatus(mailing(parks, cancels).run)).toBe("cancelled");
  });

  it("passes the restore on to runs that continue it", () => {
    const child = given(accepts(plan(step("m", { tool: sendMail })), { restored: restoration })).when(starts("m"));
    expect(child.newEvent("gate.opened").rule).toBe("restored_acts");
    expect(runStatus(child.run)).toBe("waiting");
  });
});
