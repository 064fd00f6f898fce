import { describe, expect, it } from "vitest";
import { plan, readPage, sendMail, step } from "../testing/given/cast.ts";
import { accepts, does, starts, undoes } from "../testing/given/moves.ts";
import { given } from "../testing/given.ts";
import { type ClosureEvent, closureFault, closurePuts, decideClosure, unclosed } from "./closure.ts";
import type { Instant, RunId } from "./id.ts";
import type { Closure } from "./rows.ts";

const said = { at: 5 as Instant, by: "ana", reason: "" };
const closed = (how: Closure["how"]): ClosureEvent => ({ type: "project.closed", ...said, how });
const opened: ClosureEvent = { type: "project.opened", ...said };
const closure: Closure = { how: "locked", by: "ana", reason: "", at: 5 as Instant };

describe("a closed project", () => {
  it("refuses every call but an undo", () => {
    const tool = { ...sendMail, compensates: true };
    const story = given(accepts(plan(step("send", { tool }), step("read", { tool: readPage })), { project: "site" }));
    const halts = { halt: null, closure, checks: [] };
    const fault = { code: "PROJECT_LOCKED", message: "project site was locked by ana; open it first" };
    for (const id of ["send", "read"])
      expect(story.when(starts(id, { halts })).said("step.rejected", id)).toMatchObject({
        rule: "project_open",
        fault,
      });
    const undo = story.when(does("send"), undoes("send"), starts("undo.send.1", { halts }));
    expect(undo.said("step.started", "undo.send.1")).toBeDefined();
  });

  it("is closed once, closed otherwise, and opened where it is closed", () => {
    expect(decideClosure(unclosed, closed("locked"))).toEqual(closed("locked"));
    expect(decideClosure({ closure }, closed("locked"))).toBeNull();
    expect(decideClosure({ closure }, closed("archived"))).toEqual(closed("archived"));
    expect(decideClosure({ closure }, opened)).toEqual(opened);
    expect(decideClosure(unclosed, opened)).toMatchObject({ code: "NOT_POSSIBLE" });
  });

  it("is a row, of which every fact is a version", () => {
    expect(closurePuts("prj_x" as RunId, [closed("locked"), opened])).toEqual([
      { table: "setting", key: "prj_x", was: null, row: JSON.stringify({ closure }) },
      { table: "setting", key: "prj_x", was: 1, row: '{"closure":null}' },
    ]);
  });

  it("says who closed it, how and why", () => {
    const over: Closure = { ...closure, how: "archived", reason: "over" };
    expect(closureFault("site", over)).toEqual({
      code: "PROJECT_ARCHIVED",
      message: "project site was archived by ana (over); open it first",
    });
    expect(closureFault("site", null)).toBeNull();
  });
});
