import { describe, expect, it } from "vitest";
import { lenient } from "../testing/given/admission.ts";
import { bob, keepNote, noon, plan, sendMail, step } from "../testing/given/cast.ts";
import { accepts, answers, approves, starts } from "../testing/given/moves.ts";
import { given, pass } from "../testing/given.ts";
import type { StateFact } from "./command.ts";
import type { Digest } from "./id.ts";
import { driftFrom, type PinFact, type Preview, surprise } from "./preview.ts";
import type { Patch } from "./state/patch.ts";

const digest = (text: string) => text as Digest;
const pins = { at: noon, version: 3, reads: { "/stock/a": digest("5") }, resources: { files: digest("t1") } };
const shown = { gate_id: "gate_1", preview: { pins }, estimate: { usd_micros: 5 } };
const now = (more: Partial<PinFact> = {}): PinFact => ({
  reads: pins.reads,
  resources: pins.resources,
  check: null,
  ...more,
});

describe("what was approved", () => {
  it("is what would run as long as nothing has changed that it was told from", () => {
    expect(driftFrom(shown, { pins: now(), estimate: { usd_micros: 5 } })).toBeNull();
    expect(driftFrom({ gate_id: "gate_1" }, { pins: null, estimate: null })).toBeNull();
    const loose = { ...shown, preview: { pins: { ...pins, reads: {}, resources: {} } } };
    expect(driftFrom(loose, { pins: null, estimate: {} })).toBeNull();
  });

  it("has to be looked at before that can be said", () => {
    expect(driftFrom(shown, { pins: null, estimate: { usd_micros: 5 } })).toBe("unseen");
  });

  it.each<[string, PinFact, object | null, readonly string[]]>([
    ["state", now({ reads: { "/stock/a": digest("6") } }), { usd_micros: 5 }, ["/stock/a"]],
    ["state that is gone", now({ reads: {} }), { usd_micros: 5 }, ["/stock/a"]],
    ["files", now({ resources: { files: digest("t2") } }), { usd_micros: 5 }, ["files"]],
    ["a price that is higher", now(), { usd_micros: 6 }, ["what it costs"]],
    ["a price in something else", now(), { usd_micros: 5, credits: 1 }, ["what it costs"]],
    ["a price that nobody can tell any more", now(), null, ["what it costs"]],
    ["all of it", now({ reads: {}, resources: {} }), { usd_micros: 9 }, ["/stock/a", "files", "what it costs"]],
  ])("is stale with %s", (_, fact, estimate, changed) => {
    expect(driftFrom(shown, { pins: fact, estimate })).toMatchObject({ code: "PREVIEW_STALE", detail: { changed } });
  });

  it("stands if it costs less", () => {
    expect(driftFrom(shown, { pins: now(), estimate: {} })).toBeNull();
  });
});

describe("what a call did", () => {
  const patch: Patch = [{ op: "set", path: "/stock/a", value: 3 }];
  const init: Patch = [{ op: "init", path: "/stock", value: {}, v: "1" }];
  const told = (preview: Partial<Preview>) => ({ gate_id: "gate_1", preview: { pins, ...preview } });

  it("is no surprise if it is what was shown, or nobody could tell", () => {
    expect(surprise(told({ output: { a: 1 }, patch }), { a: 1 }, patch)).toBeNull();
    expect(surprise(told({ patch: [...init, ...patch] }), 7, patch)).toBeNull();
    expect(surprise(told({}), 7, patch)).toBeNull();
    expect(surprise({ gate_id: "gate_1" }, 7, patch)).toBeNull();
    expect(surprise(told({ patch: [] }), 7, null)).toBeNull();
  });

  it("is one if it wrote nothing of what was shown", () => {
    expect(surprise(told({ patch }), 7, null)).toMatchObject({
      message: expect.stringContaining("it wrote something else"),
    });
  });

  it.each<[string, Partial<Preview>]>([
    ["answered", { output: { a: 2 }, patch }],
    ["wrote", { output: { a: 1 }, patch: [] }],
    ["wrote", { output: { a: 1 }, patch: [...patch, ...patch] }],
  ])("is one if it %s something else", (what, preview) => {
    expect(surprise(told(preview), { a: 1 }, patch)).toMatchObject({
      code: "PREVIEW_STALE",
      message: expect.stringContaining(what),
    });
  });
});

describe("a held call that was shown with what it would do", () => {
  const preview: Preview = { output: { n: 1 }, patch: [], pins: { ...pins, resources: {} } };
  const held = given(accepts(plan(step("keep", { tool: keepNote, gate: "human_confirm" })))).when(
    starts("keep", { preview }),
  );
  const moved = now({ reads: { "/stock/a": digest("6") }, resources: {} });
  const same = now({ resources: {}, check: { table: "project", key: "project:shop", was: null } });
  const written = (state: Patch): { state: StateFact } => ({
    state: { base: 3, change: null, logged: null, quarrel: null, flaw: null, written: state },
  });

  it("asks for the preview before it asks a person", () => {
    const wanted = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" })).when(
      starts("send", { preview: "wanted" }),
    );
    expect(wanted.decision.need).toBe("preview");
    expect(held.said("gate.opened").preview).toEqual(preview);
  });

  it("starts if that has not changed, and only while it has not", () => {
    const approved = held.when(approves("keep"));
    expect(approved.when(starts("keep")).decision.need).toBe("pins");
    const begun = approved.when(starts("keep", { pins: same }));
    expect(begun.types).toEqual(["step.started"]);
    expect(begun.decision.checks).toEqual([same.check]);
  });

  it("is asked about again with what it would do now, and nobody's yes stands", () => {
    const stale = held.when(approves("keep"), starts("keep", { pins: moved, preview: { ...preview, output: 2 } }));
    expect(stale.types).toEqual(["gate.approved", "gate.closed", "gate.opened"]);
    expect(stale.said("gate.opened")).toMatchObject({ stale: { code: "PREVIEW_STALE" }, preview: { output: 2 } });
    expect(stale.said("gate.opened")).not.toHaveProperty("votes");
    expect(stale.standing("keep").state).toBe("waiting_approval");
  });

  it("fails if it did something else, and is asked about anew when it is tried again", () => {
    const begun = held.when(approves("keep"), starts("keep", { pins: same }));
    expect(begun.when(answers("keep", { n: 1 }, written([]))).standing("keep").state).toBe("succeeded");
    const other = begun.when(answers("keep", { n: 2 }, written([])));
    expect(other.said("step.failed")).toMatchObject({ fault: { code: "PREVIEW_STALE" } });
    expect(other.said("step.failed").retry_at).not.toBeNull();
    const again = other.when(pass(10), starts("keep", { preview }));
    expect(again.types).toEqual(["gate.opened"]);
  });

  it("is asked about again, as it was asked, though nobody would ask by now", () => {
    const asks = { kind: "hold", rule: "ask", reason: "why", demand: { role: "cfo" } } as const;
    const policy = { ...lenient, judge: () => asks };
    const story = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send", { preview, policy }));
    const stale = story.when(approves("send", bob), starts("send", { pins: moved, preview, policy: lenient }));
    expect(stale.said("gate.opened")).toMatchObject({ demand: { role: "cfo" }, rule: "ask", reason: "why" });
  });

  it("is tried again on the same yes while it stands", () => {
    const begun = held.when(approves("keep"), starts("keep", { pins: same }));
    const retried = begun.when(
      answers("keep", { n: 1 }, { state: { ...written([]).state, quarrel: "/stock/b" } }),
      pass(1000),
    );
    expect(retried.when(starts("keep", { pins: same })).types).toEqual(["step.started"]);
    expect(retried.when(starts("keep", { pins: moved, preview })).types).toEqual(["gate.opened"]);
  });
});
