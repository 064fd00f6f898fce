import { describe, expect, it } from "vitest";
import { lenientPolicy } from "../../testing/given/admission.ts";
import { accepts, does, settles, starts, timesOut, undoes, wakes } from "../../testing/given/commands.ts";
import { conditionOn, plan, planAssertion, planWait, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { given, pass } from "../../testing/given/given.ts";
import type { Halt } from "../store/tables.ts";
import type { Instant, RunId } from "../values/ids.ts";
import { decideHalt, evolveHalts, findHalt, type HaltEvent, haltPuts, isNotifiedOnLift, noHalts } from "./halt.ts";

const [at, hire, order] = [5 as Instant, "run_hire" as RunId, "run_order" as RunId];
const halt: Halt = { over: "tenant", by: "ana", reason: "wrong list", at };
const checks = [{ table: "setting", key: "hlt", was: null, glance: "own" }] as const;
const halted = { halts: { halt, closure: null, checks } };
const everything = { halts: { halt: { ...halt, over: "everything" }, closure: null, checks } } as const;
const free = { halts: { halt: null, closure: null, checks } };
const story = given(accepts(plan(step("read", { tool: readPage }), step("send", { tool: sendMail }))));

describe("a halted call", () => {
  it("is parked and checks the halt again after growing intervals", () => {
    let current = story.when(starts("send", halted));
    const since = current.now;
    const waits: number[] = [];
    for (let checksDone = 0; checksDone < 15; checksDone += 1) {
      const { on } = current.newEvent("step.parked");
      if (on.for !== "halt") throw new Error("the step is parked for another reason");
      expect(on).toMatchObject({ halt, since });
      waits.push(on.until - current.now);
      current = current.when(pass(on.until - current.now), starts("send", halted));
    }
    expect(waits).toEqual([1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600].map((s) => s * 1000));
    expect(story.when(starts("read", halted)).newEvent("step.parked").on).toMatchObject({ for: "halt", halt });
  });

  it("checks the halt rows whether it is parked or starts; a call that appends no start does not", () => {
    expect(story.when(starts("send", halted)).decision.checks).toEqual(checks);
    expect(story.when(starts("send", free)).decision.checks).toEqual(checks);
    expect(story.when(starts("read", free)).decision.checks).toEqual([]);
    expect(story.when(starts("send", { ...free, tool: null })).decision.checks).toEqual([]);
  });

  it("also checks that no policy exists, if it starts without one", () => {
    const unruled = [{ table: "setting", key: "pol", was: null, glance: "own" }] as const;
    expect(story.when(starts("send", { ...free, unruled })).decision.checks).toEqual([...unruled, ...checks]);
    expect(story.when(starts("send", { ...halted, unruled })).decision.checks).toEqual(checks);
    expect(story.when(starts("send", { policy: lenientPolicy, unruled })).decision.checks).toEqual([]);
  });

  it("becomes ready when a halt is lifted", () => {
    const waiting = story.when(starts("send", halted)).when(wakes);
    expect(waiting.newEvents).toMatchObject([{ type: "step.readied", step_id: "send", why: "a halt was lifted" }]);
    expect(waiting.when(wakes).newEvents).toEqual([]);
    expect(waiting.when(starts("send", free)).newEvent("step.started")).toMatchObject({ step_id: "send" });
  });

  it("can still be a compensation, which starts under a halt", () => {
    const tool = { ...sendMail, compensates: true };
    const done = given(accepts(plan(step("send", { tool })))).when(does("send"), undoes("send"));
    expect(done.when(starts("undo.send.1", halted)).newEvent("step.started")).toMatchObject({ step_id: "undo.send.1" });
  });

  it("stays in doubt for a person instead of being sent again", () => {
    const tool = { ...sendMail, idempotentForMs: 600_000 };
    const doubted = given(accepts(plan(step("send", { tool })))).when(
      starts("send"),
      timesOut("send"),
      settles("send", null),
    );
    expect(doubted.when(starts("send", halted)).newEvent("step.probed")).toMatchObject({
      saw: "unknown",
      why: "ana halted tenant before it was sent again",
      next_at: null,
    });
  });

  it("does not block steps that call no tool", () => {
    const waits = given(accepts(plan(planWait("wait", { ms: 10 }))));
    expect(waits.when(starts("wait", halted)).newEvent("step.parked").on).toMatchObject({ for: "time" });
    const withAssertion = plan(step("read", { tool: readPage }), planAssertion("is", conditionOn("read", "", "eq", 1)));
    const checked = given(accepts(withAssertion)).when(does("read", 1));
    expect(checked.when(starts("is", halted)).newEvent("step.succeeded")).toMatchObject({ step_id: "is" });
  });
});

describe("the halts in force", () => {
  const details = { at, by: "ana", reason: "wrong list" };
  const set = (...over: readonly Halt["over"][]): HaltEvent => ({ type: "halt.set", ...details, over });
  const lifted = (...over: readonly Halt["over"][]): HaltEvent => ({ type: "halt.lifted", ...details, over });

  it("are those set and not lifted, and each event is a version of the row", () => {
    const events = [set("tenant", hire), lifted(hire), lifted("tenant")];
    const row = (halts: readonly object[]) => JSON.stringify({ halts });
    const one = { over: hire, by: "ana", reason: "wrong list", at };
    expect(haltPuts("hlt_x" as RunId, events)).toEqual([
      { table: "setting", key: "hlt_x", was: null, row: row([halt, one]) },
      { table: "setting", key: "hlt_x", was: 1, row: row([halt]) },
      { table: "setting", key: "hlt_x", was: 2, row: row([]) },
    ]);
  });

  it("are set once, lifted if they are in force, and limited in number", () => {
    const row = evolveHalts(noHalts, set("tenant"));
    expect(decideHalt(row, set("tenant"))).toBeNull();
    expect(decideHalt(row, set("tenant", hire))).toMatchObject({ over: [hire] });
    expect(decideHalt(row, lifted("tenant", hire))).toMatchObject({ over: ["tenant"] });
    expect(decideHalt(row, lifted(hire))).toMatchObject({ code: "NOT_POSSIBLE" });
    const many = Array.from({ length: 999 }, (_, nth) => `run_${nth}` as RunId);
    expect(decideHalt(row, set(...many))).toMatchObject({ type: "halt.set" });
    expect(decideHalt(row, set(...many, hire))).toMatchObject({ code: "LIMIT_EXCEEDED" });
  });

  it("apply to a run by everything, by its tenant, by its own id and by its parent", () => {
    const run = { id: hire, parent: null, forked: null };
    const child = { ...run, id: order, parent: { run_id: hire } as never };
    for (const over of ["everything", "tenant", hire] as const) {
      const row = evolveHalts(noHalts, set(over));
      expect([findHalt(row, run), findHalt(row, child)]).toMatchObject([{ over }, { over }]);
    }
    const row = evolveHalts(noHalts, set(order));
    expect([findHalt(row, run), findHalt(row, child)?.over]).toEqual([null, order]);
  });

  it("apply to all descendants of a run, child runs and forks", () => {
    const run = { id: "run_x" as RunId, parent: null, forked: null };
    const from = { run_id: order, above: [hire] } as never;
    const descendants = [
      { ...run, parent: from },
      { ...run, forked: from },
    ];
    for (const over of [hire, order]) {
      const row = evolveHalts(noHalts, set(over));
      expect([...descendants, run].map((each) => findHalt(row, each)?.over)).toEqual([over, over, undefined]);
    }
  });

  it("are checked more often by runs that are not woken when a halt is lifted", () => {
    const run = { id: hire, parent: { run_id: order, above: ["run_top" as RunId] } as never, forked: null };
    const over = (scope: Halt["over"]) => isNotifiedOnLift({ ...halt, over: scope }, run);
    expect(["tenant", hire, order, "run_top" as RunId].map((each) => over(each as Halt["over"]))).toEqual(
      Array(4).fill(true),
    );
    expect([over("everything"), isNotifiedOnLift({ ...halt, over: order }, { ...run, parent: null })]).toEqual([
      false,
      false,
    ]);
    let current = story.when(starts("send", everything));
    for (let checksDone = 0; checksDone < 12; checksDone += 1)
      current = current.when(pass(300_000), starts("send", everything));
    const { on } = current.newEvent("step.parked");
    expect(on.for === "halt" && on.until - current.now).toBe(300_000);
  });
});
