import { describe, expect, it } from "vitest";
import { later, noon, plan, sendMail, step } from "../testing/given/cast.ts";
import {
  accepts,
  cancels,
  does,
  fails,
  goesUnheard,
  resumes,
  settles,
  starts,
  undoes,
} from "../testing/given/moves.ts";
import { given } from "../testing/given.ts";
import { fault } from "./fault.ts";
import { isIdle, placed, reopened, sunk, withdrawn, withStep } from "./place.ts";
import type { MutableRun } from "./run.ts";
import type { Standing } from "./step.ts";

const { run } = given(accepts(plan(step("a"), step("b", { after: ["a"] }))));
const a = run.steps.get(0);
const b = run.steps.get(1);
/** The run while a fact is written into it. */
const draft = (over: Partial<MutableRun> = {}): MutableRun => ({ ...run, fresh: [], ...over });
const why = fault("TOOL_FAILED", "it failed");
const retrying: Standing = { state: "failed_retryable", fault: why, retry_at: later(5) };

describe("putting a step into a state", () => {
  it("moves the counters with it", () => {
    expect(placed(draft(), a, retrying).paces).toMatchObject({ moving: 0, retrying: 1, blocked: 1 });
    expect(placed(draft(), a, { state: "running", attempt: 1, started_at: noon }).paces).toBe(run.paces);
  });

  it("keeps the list of those who wait", () => {
    const waits = placed(draft(), a, retrying);
    const { waiting } = waits;
    expect([...waiting]).toEqual([["a", true]]);
    const still = placed(waits, a, { state: "waiting", on: { for: "time", until: later(9) } });
    expect(still.waiting).toBe(waiting);
    expect([...placed(still, a, { state: "ready" }).waiting]).toEqual([]);
  });

  it("names what became ready, and reopens a run that had ended", () => {
    const ended = { ended: { status: "failed", at: noon } as const };
    expect(placed(draft(ended), b, { state: "ready" })).toMatchObject({ fresh: [1], ended: null });
    expect(placed(draft(ended), b, { state: "cancelled" }).fresh).toEqual([]);
  });

  it("leaves counters and end alone where only the step itself is another", () => {
    const ended = { status: "failed", at: noon } as const;
    const after = withStep(draft({ ended }), { ...a, attempts: 7 });
    expect(after.steps.get(0).attempts).toBe(7);
    expect(after).toMatchObject({ paces: run.paces, ended });
  });
});

describe("being idle", () => {
  it.each([
    [true, { state: "pending" }],
    [true, { state: "ready" }],
    [true, { state: "waiting", on: { for: "time", until: noon } }],
    [true, { state: "waiting_approval", gate_id: "g" }],
    [true, retrying],
    [false, { state: "running", attempt: 1, started_at: noon }],
    [false, { state: "in_doubt" }],
    [false, { state: "succeeded" }],
    [false, { state: "compensating" }],
  ])("is %s of %j", (idle, standing) => {
    expect(isIdle({ ...a, standing: standing as Standing })).toBe(idle);
  });
});

describe("a step that may run again", () => {
  const tool = { ...sendMail, compensates: true };
  const undoing = given(accepts(plan(step("send", { tool })))).when(does("send"), undoes("send"));
  const undo = undoing.step("undo.send.1");
  const cancel = { by: "ana", reason: "" };

  it("is ready, cancelled with its run, or skipped with its plan", () => {
    const state = (over: object) => reopened(draft(over), a).steps.get(0).standing.state;
    expect(state({})).toBe("ready");
    expect(state({ cancel })).toBe("cancelled");
    expect(state({ stopped: "b" })).toBe("skipped");
    expect(state({ stopped: "b", cancel })).toBe("cancelled");
  });

  it("is ready in any run, if it undoes something", () => {
    for (const over of [{ cancel }, { stopped: undo.spec.step_id }])
      expect(reopened({ ...undoing.run, fresh: [], ...over }, undo).steps.get(undo.index).standing.state).toBe("ready");
  });
});

describe("taking a step out of the run", () => {
  it("leaves it in doubt if it was", () => {
    const tool = { ...sendMail, idempotentForMs: 600_000 };
    const told = given(accepts(plan(step("send", { tool })))).when(
      starts("send"),
      goesUnheard("send"),
      settles("send", null),
    );
    const out = (id: string, standing: Standing) =>
      withdrawn({ ...told.run, fresh: [] }, told.step(id), standing).steps.get(0).standing;
    expect(out("send", { state: "cancelled" })).toMatchObject({ state: "in_doubt", doubt: { next: { do: "ask" } } });
    expect(withdrawn(draft(), a, { state: "cancelled" }).steps.get(0).standing).toEqual({ state: "cancelled" });
  });
});

describe("a step that sinks", () => {
  it("takes along only what waits behind it, if it was neither failed nor refused", () => {
    const sank = sunk(placed(draft(), a, { state: "cancelled" }), a, { at: given().now });
    expect(sank.steps.get(1).standing).toMatchObject({ state: "skipped" });
    expect(sank.stopped).toBeNull();
  });

  it("is remembered as the one that ended the plan, whoever fails after it", () => {
    const two = given(accepts(plan(step("a"), step("b"), step("c")))).when(starts("a"), starts("b"));
    const told = two.when(fails("a", "TOOL_FAILED", { inFlight: ["b"] }), fails("b"));
    expect(told.run.stopped).toBe("a");
    expect(told.standing("c")).toMatchObject({ fault: { message: expect.stringContaining("a ended the plan") } });
    expect(told.when(resumes).run.stopped).toBeNull();
    expect(two.when(cancels).run.stopped).toBeNull();
  });
});
