import { describe, expect, it } from "vitest";
import { accepts, does, starts, undoes } from "../../testing/given/commands.ts";
import { plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import type { ProjectLock } from "../store/tables.ts";
import type { Instant, RunId } from "../values/ids.ts";
import {
  decideProjectLock,
  type ProjectLockEvent,
  projectLockFault,
  projectLockPuts,
  unlockedProject,
} from "./project-lock.ts";

const order = { at: 5 as Instant, by: "ana", reason: "" };
const closed = (how: ProjectLock["how"]): ProjectLockEvent => ({ type: "project.closed", ...order, how });
const opened: ProjectLockEvent = { type: "project.opened", ...order };
const closure: ProjectLock = { how: "locked", by: "ana", reason: "", at: 5 as Instant };

describe("a closed project", () => {
  it("refuses every call but an undo", () => {
    const tool = { ...sendMail, compensates: true };
    const story = given(accepts(plan(step("send", { tool }), step("read", { tool: readPage })), { project: "site" }));
    const halts = { halt: null, closure, checks: [] };
    const fault = { code: "PROJECT_LOCKED", message: "project site was locked by ana; open it first" };
    for (const id of ["send", "read"])
      expect(story.when(starts(id, { halts })).newEvent("step.rejected", id)).toMatchObject({
        rule: "project_open",
        fault,
      });
    const undo = story.when(does("send"), undoes("send"), starts("undo.send.1", { halts }));
    expect(undo.newEvent("step.started", "undo.send.1")).toBeDefined();
  });

  it("can be closed in the other way or opened, and closing it again changes nothing", () => {
    expect(decideProjectLock(unlockedProject, closed("locked"))).toEqual(closed("locked"));
    expect(decideProjectLock({ closure }, closed("locked"))).toBeNull();
    expect(decideProjectLock({ closure }, closed("archived"))).toEqual(closed("archived"));
    expect(decideProjectLock({ closure }, opened)).toEqual(opened);
    expect(decideProjectLock(unlockedProject, opened)).toMatchObject({ code: "NOT_POSSIBLE" });
  });

  it("is one row, and each event is its next version", () => {
    expect(projectLockPuts("prj_x" as RunId, [closed("locked"), opened])).toEqual([
      { table: "setting", key: "prj_x", was: null, row: JSON.stringify({ closure }) },
      { table: "setting", key: "prj_x", was: 1, row: '{"closure":null}' },
    ]);
  });

  it("says who closed it, how and why", () => {
    const archived: ProjectLock = { ...closure, how: "archived", reason: "done" };
    expect(projectLockFault("site", archived)).toEqual({
      code: "PROJECT_ARCHIVED",
      message: "project site was archived by ana (done); open it first",
    });
    expect(projectLockFault("site", null)).toBeNull();
  });
});
