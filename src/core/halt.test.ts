import { describe, expect, it } from "vitest";
import { lenient } from "../testing/given/admission.ts";
import { assertion, claim, plan, readPage, sendMail, step, wait } from "../testing/given/cast.ts";
import { accepts, does, goesUnheard, settles, starts, undoes, wakes } from "../testing/given/moves.ts";
import { given, pass } from "../testing/given.ts";
import { decideHalt, evolveHalts, type HaltEvent, haltOver, haltPuts, isTold, noHalts } from "./halt.ts";
import type { Instant, RunId } from "./id.ts";
import type { Halt } from "./rows.ts";

const [at, hire, order] = [5 as Instant, "run_hire" as RunId, "run_order" as RunId];
const halt: Halt = { over: "tenant", by: "ana", reason: "wrong list", at };
const checks = [{ table: "setting", key: "hlt", was: null, glance: "own" }] as const;
const halted = { halts: { halt, closure: null, checks } };
const everything = { halts: { halt: { ...halt, over: "everything" }, closure: null, checks } } as const;
const free = { halts: { halt: null, closure: null, checks } };
const story = given(accepts(plan(step("read", { tool: readPage }), step("send", { tool: sendMail }))));

describe("a call that is halted", () => {
  it("waits, on the record, and looks again ever more seldom", () => {
    let told = story.when(starts("send", halted));
    const since = told.now;
    const waits: number[] = [];
    for (let looks = 0; looks < 15; looks += 1) {
      const { on } = told.said("step.parked");
      if (on.for !== "halt") throw new Error("it waits for something else");
      expect(on).toMatchObject({ halt, since });
      waits.push(on.until - told.now);
      told = told.when(pass(on.until - told.now), starts("send", halted));
    }
    expect(waits).toEqual([1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600].map((s) => s * 1000));
    expect(story.when(starts("read", halted)).said("step.parked").on).toMatchObject({ for: "halt", halt });
  });

  it("relies on the rows that were looked at, whether it waits or begins; what begins nothing does not", () => {
    expect(story.when(starts("send", halted)).decision.checks).toEqual(checks);
    expect(story.when(starts("send", free)).decision.checks).toEqual(checks);
    expect(story.when(starts("read", free)).decision.checks).toEqual([]);
    expect(story.when(starts("send", { ...free, tool: null })).decision.checks).toEqual([]);
  });

  it("relies on there being no policy, too, if it begins by none", () => {
    const unruled = [{ table: "setting", key: "pol", was: null, glance: "own" }] as const;
    expect(story.when(starts("send", { ...free, unruled })).decision.checks).toEqual([...unruled, ...checks]);
    expect(story.when(starts("send", { ...halted, unruled })).decision.checks).toEqual(checks);
    expect(story.when(starts("send", { policy: lenient, unruled })).decision.checks).toEqual([]);
  });

  it("is ready again when a halt was lifted, and others are left where they are", () => {
    const waiting = story.when(starts("send", halted)).when(wakes);
    expect(waiting.news).toMatchObject([{ type: "step.readied", step_id: "send", why: "a halt was lifted" }]);
    expect(waiting.when(wakes).news).toEqual([]);
    expect(waiting.when(starts("send", free)).said("step.started")).toMatchObject({ step_id: "send" });
  });

  it("does not keep what was done from being undone", () => {
    const tool = { ...sendMail, compensates: true };
    const done = given(accepts(plan(step("send", { tool })))).when(does("send"), undoes("send"));
    expect(done.when(starts("undo.send.1", halted)).said("step.started")).toMatchObject({ step_id: "undo.send.1" });
  });

  it("is left to a person, if it would only be sent again", () => {
    const tool = { ...sendMail, idempotentForMs: 600_000 };
    const doubted = given(accepts(plan(step("send", { tool })))).when(
      starts("send"),
      goesUnheard("send"),
      settles("send", null),
    );
    expect(doubted.when(starts("send", halted)).said("step.probed")).toMatchObject({
      saw: "unknown",
      why: "ana halted tenant before it was sent again",
      next_at: null,
    });
  });

  it("does not keep what calls nothing from going on", () => {
    const waits = given(accepts(plan(wait("wait", { ms: 10 }))));
    expect(waits.when(starts("wait", halted)).said("step.parked").on).toMatchObject({ for: "time" });
    const claims = plan(step("read", { tool: readPage }), assertion("is", claim("read", "", "eq", 1)));
    const claimed = given(accepts(claims)).when(does("read", 1));
    expect(claimed.when(starts("is", halted)).said("step.succeeded")).toMatchObject({ step_id: "is" });
  });
});

describe("the halts that stand", () => {
  const said = { at, by: "ana", reason: "wrong list" };
  const set = (...over: readonly Halt["over"][]): HaltEvent => ({ type: "halt.set", ...said, over });
  const lifted = (...over: readonly Halt["over"][]): HaltEvent => ({ type: "halt.lifted", ...said, over });

  it("are what was set and not lifted, each a version of the row", () => {
    const events = [set("tenant", hire), lifted(hire), lifted("tenant")];
    const row = (halts: readonly object[]) => JSON.stringify({ halts });
    const one = { over: hire, by: "ana", reason: "wrong list", at };
    expect(haltPuts("hlt_x" as RunId, events)).toEqual([
      { table: "setting", key: "hlt_x", was: null, row: row([halt, one]) },
      { table: "setting", key: "hlt_x", was: 1, row: row([halt]) },
      { table: "setting", key: "hlt_x", was: 2, row: row([]) },
    ]);
  });

  it("are set once, lifted where they stand, and not without end", () => {
    const row = evolveHalts(noHalts, set("tenant"));
    expect(decideHalt(row, set("tenant"))).toBeNull();
    expect(decideHalt(row, set("tenant", hire))).toMatchObject({ over: [hire] });
    expect(decideHalt(row, lifted("tenant", hire))).toMatchObject({ over: ["tenant"] });
    expect(decideHalt(row, lifted(hire))).toMatchObject({ code: "NOT_POSSIBLE" });
    const many = Array.from({ length: 999 }, (_, nth) => `run_${nth}` as RunId);
    expect(decideHalt(row, set(...many))).toMatchObject({ type: "halt.set" });
    expect(decideHalt(row, set(...many, hire))).toMatchObject({ code: "LIMIT_EXCEEDED" });
  });

  it("reach a run by everything, by its tenant, by itself and by the run that asked for it", () => {
    const run = { id: hire, parent: null, forked: null };
    const child = { ...run, id: order, parent: { run_id: hire } as never };
    for (const over of ["everything", "tenant", hire] as const) {
      const row = evolveHalts(noHalts, set(over));
      expect([haltOver(row, run), haltOver(row, child)]).toMatchObject([{ over }, { over }]);
    }
    const row = evolveHalts(noHalts, set(order));
    expect([haltOver(row, run), haltOver(row, child)?.over]).toEqual([null, order]);
  });

  it("reach whoever is further down the line, and what was forked from it, by the one name", () => {
    const run = { id: "run_x" as RunId, parent: null, forked: null };
    const from = { run_id: order, above: [hire] } as never;
    const line = [
      { ...run, parent: from },
      { ...run, forked: from },
    ];
    for (const over of [hire, order]) {
      const row = evolveHalts(noHalts, set(over));
      expect([...line, run].map((each) => haltOver(row, each)?.over)).toEqual([over, over, undefined]);
    }
  });

  it("are looked at more often by those that nobody tells when one is lifted", () => {
    const run = { id: hire, parent: { run_id: order, above: ["run_top" as RunId] } as never, forked: null };
    const over = (reach: Halt["over"]) => isTold({ ...halt, over: reach }, run);
    expect(["tenant", hire, order, "run_top" as RunId].map((each) => over(each as Halt["over"]))).toEqual(
      Array(4).fill(true),
    );
    expect([over("everything"), isTold({ ...halt, over: order }, { ...run, parent: null })]).toEqual([false, false]);
    let told = story.when(starts("send", everything));
    for (let looks = 0; looks < 12; looks += 1) told = told.when(pass(300_000), starts("send", everything));
    const { on } = told.said("step.parked");
    expect(on.for === "halt" && on.until - told.now).toBe(300_000);
  });
});
