import { describe, expect, it } from "vitest";
import { lenientPolicy } from "../../testing/given/admission.ts";
import { accepts, answers, approves, starts } from "../../testing/given/commands.ts";
import { bob, keepNote, noon, plan, sendMail, step } from "../../testing/given/fixtures.ts";
import { given, pass } from "../../testing/given/given.ts";
import type { StateFact } from "../decide/command.ts";
import type { Patch } from "../state/patch.ts";
import type { Digest } from "../values/ids.ts";
import { type PinFact, type Preview, previewDrift, previewMismatch } from "./result-preview.ts";

const digest = (text: string) => text as Digest;
const pins = { at: noon, version: 3, reads: { "/stock/a": digest("5") }, resources: { files: digest("t1") } };
const shown = { gate_id: "gate_1", preview: { pins }, estimate: { usd_micros: 5 } };
const now = (more: Partial<PinFact> = {}): PinFact => ({
  reads: pins.reads,
  resources: pins.resources,
  check: null,
  ...more,
});

describe("an approved preview", () => {
  it("is valid as long as its pins and its cost are unchanged", () => {
    expect(previewDrift(shown, { pins: now(), estimate: { usd_micros: 5 } })).toBeNull();
    expect(previewDrift({ gate_id: "gate_1" }, { pins: null, estimate: null })).toBeNull();
    const unpinned = { ...shown, preview: { pins: { ...pins, reads: {}, resources: {} } } };
    expect(previewDrift(unpinned, { pins: null, estimate: {} })).toBeNull();
  });

  it("needs its current pins before it can be checked", () => {
    expect(previewDrift(shown, { pins: null, estimate: { usd_micros: 5 } })).toBe("pins_needed");
  });

  it.each<[string, PinFact, object | null, readonly string[]]>([
    ["state", now({ reads: { "/stock/a": digest("6") } }), { usd_micros: 5 }, ["/stock/a"]],
    ["deleted state", now({ reads: {} }), { usd_micros: 5 }, ["/stock/a"]],
    ["files", now({ resources: { files: digest("t2") } }), { usd_micros: 5 }, ["files"]],
    ["a higher cost", now(), { usd_micros: 6 }, ["the cost"]],
    ["a cost in another unit", now(), { usd_micros: 5, credits: 1 }, ["the cost"]],
    ["a cost that is no longer known", now(), null, ["the cost"]],
    ["all of these", now({ reads: {}, resources: {} }), { usd_micros: 9 }, ["/stock/a", "files", "the cost"]],
  ])("is stale with %s", (_, fact, estimate, changed) => {
    expect(previewDrift(shown, { pins: fact, estimate })).toMatchObject({ code: "PREVIEW_STALE", detail: { changed } });
  });

  it("is valid if the call costs less", () => {
    expect(previewDrift(shown, { pins: now(), estimate: {} })).toBeNull();
  });
});

describe("the result of a call", () => {
  const patch: Patch = [{ op: "set", path: "/stock/a", value: 3 }];
  const init: Patch = [{ op: "init", path: "/stock", value: {}, v: "1" }];
  const shownWith = (preview: Partial<Preview>) => ({ gate_id: "gate_1", preview: { pins, ...preview } });

  it("is accepted if it equals the preview, or if the preview left it open", () => {
    expect(previewMismatch(shownWith({ output: { a: 1 }, patch }), { a: 1 }, patch)).toBeNull();
    expect(previewMismatch(shownWith({ patch: [...init, ...patch] }), 7, patch)).toBeNull();
    expect(previewMismatch(shownWith({}), 7, patch)).toBeNull();
    expect(previewMismatch({ gate_id: "gate_1" }, 7, patch)).toBeNull();
    expect(previewMismatch(shownWith({ patch: [] }), 7, null)).toBeNull();
  });

  it("is refused if the call did not write the previewed patch", () => {
    expect(previewMismatch(shownWith({ patch }), 7, null)).toMatchObject({
      message: expect.stringContaining("the call wrote something other"),
    });
  });

  it.each<[string, Partial<Preview>]>([
    ["returned", { output: { a: 2 }, patch }],
    ["wrote", { output: { a: 1 }, patch: [] }],
    ["wrote", { output: { a: 1 }, patch: [...patch, ...patch] }],
  ])("is refused if the call %s something other than the preview", (what, preview) => {
    expect(previewMismatch(shownWith(preview), { a: 1 }, patch)).toMatchObject({
      code: "PREVIEW_STALE",
      message: expect.stringContaining(what),
    });
  });
});

describe("a held call with a preview", () => {
  const preview: Preview = { output: { n: 1 }, patch: [], pins: { ...pins, resources: {} } };
  const held = given(accepts(plan(step("keep", { tool: keepNote, gate: "human_confirm" })))).when(
    starts("keep", { preview }),
  );
  const changed = now({ reads: { "/stock/a": digest("6") }, resources: {} });
  const same = now({ resources: {}, check: { table: "project", key: "project:shop", was: null } });
  const written = (state: Patch): { state: StateFact } => ({
    state: { base: 3, change: null, logged: null, conflict: null, fault: null, written: state },
  });

  it("needs the preview before its gate opens", () => {
    const wanted = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" })).when(
      starts("send", { preview: "wanted" }),
    );
    expect(wanted.decision.need).toBe("preview");
    expect(held.newEvent("gate.opened").preview).toEqual(preview);
  });

  it("starts only while its pins are unchanged", () => {
    const approved = held.when(approves("keep"));
    expect(approved.when(starts("keep")).decision.need).toBe("pins");
    const begun = approved.when(starts("keep", { pins: same }));
    expect(begun.newEventTypes).toEqual(["step.started"]);
    expect(begun.decision.checks).toEqual([same.check]);
  });

  it("opens a new gate with a new preview and no votes if its pins have changed", () => {
    const stale = held.when(approves("keep"), starts("keep", { pins: changed, preview: { ...preview, output: 2 } }));
    expect(stale.newEventTypes).toEqual(["gate.approved", "gate.closed", "gate.opened"]);
    expect(stale.newEvent("gate.opened")).toMatchObject({ stale: { code: "PREVIEW_STALE" }, preview: { output: 2 } });
    expect(stale.newEvent("gate.opened")).not.toHaveProperty("votes");
    expect(stale.standing("keep").state).toBe("waiting_approval");
  });

  it("fails if it did something other than the preview, and its retry opens a new gate", () => {
    const begun = held.when(approves("keep"), starts("keep", { pins: same }));
    expect(begun.when(answers("keep", { n: 1 }, written([]))).standing("keep").state).toBe("succeeded");
    const other = begun.when(answers("keep", { n: 2 }, written([])));
    expect(other.newEvent("step.failed")).toMatchObject({ fault: { code: "PREVIEW_STALE" } });
    expect(other.newEvent("step.failed").retry_at).not.toBeNull();
    const again = other.when(pass(10), starts("keep", { preview }));
    expect(again.newEventTypes).toEqual(["gate.opened"]);
  });

  it("opens the new gate with the old demand, even if no rule would hold the call now", () => {
    const hold = { kind: "hold", rule: "ask", reason: "why", demand: { role: "cfo" } } as const;
    const policy = { ...lenientPolicy, judge: () => hold };
    const story = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send", { preview, policy }));
    const stale = story.when(approves("send", bob), starts("send", { pins: changed, preview, policy: lenientPolicy }));
    expect(stale.newEvent("gate.opened")).toMatchObject({ demand: { role: "cfo" }, rule: "ask", reason: "why" });
  });

  it("is retried under the same approval while its pins are unchanged", () => {
    const begun = held.when(approves("keep"), starts("keep", { pins: same }));
    const retried = begun.when(
      answers("keep", { n: 1 }, { state: { ...written([]).state, conflict: "/stock/b" } }),
      pass(1000),
    );
    expect(retried.when(starts("keep", { pins: same })).newEventTypes).toEqual(["step.started"]);
    expect(retried.when(starts("keep", { pins: changed, preview })).newEventTypes).toEqual(["gate.opened"]);
  });
});
