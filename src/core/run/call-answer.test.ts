import { describe, expect, it } from "vitest";
import { accepts, answers, approves, cancels, does, fails, proposes, starts } from "../../testing/given/commands.ts";
import { readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import { fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";
import { callAnswer, modelText } from "./call-answer.ts";
import { getStep } from "./run.ts";

const read = step("c1", { tool: readPage });
const send = step("c1", { tool: sendMail });
const open = given(accepts(null));
const answerOf = (scenario: typeof open) =>
  callAnswer(scenario.run, getStep(scenario.run, { step_id: "c1" as StepId }));

describe("the answer of a call", () => {
  it("is missing while the call moves by itself", () => {
    expect(answerOf(open.when(proposes(read)))).toBeNull();
    expect(answerOf(open.when(proposes(send), starts("c1")))).toBeNull();
  });

  it.each([
    ["succeeded", open.when(proposes(read), does("c1", { n: 1 }))],
    ["failed", open.when(proposes(read), starts("c1"), fails("c1", "INVALID_INPUT"))],
    ["refused", open.when(proposes(read), starts("c1", { flaw: fault("INVALID_INPUT", "bad") }))],
    ["held", open.when(proposes({ ...send, gate: "human_confirm" }), starts("c1"))],
    ["in_doubt", open.when(proposes(send), starts("c1"), fails("c1", "TOOL_FAILED"))],
    ["waiting", open.when(proposes(read), starts("c1", { parked: fault("TOOL_AWAY", "gone") }))],
    ["cancelled", open.when(proposes(read), cancels)],
  ] as const)("is %s as the step stands, and its text for a model says so", (status, scenario) => {
    const answer = answerOf(scenario);
    expect(answer?.status).toBe(status);
    if (answer === null) return;
    const { text, isError } = modelText(answer);
    expect(text.length).toBeGreaterThan(0);
    expect(isError).toBe(!["succeeded", "held", "waiting"].includes(status));
  });

  it("says where a call that waits for its caller continues", () => {
    const away = answerOf(open.when(proposes(read), starts("c1", { parked: fault("TOOL_AWAY", "gone") })));
    expect(away).toMatchObject({ blocked: { reason_code: "TOOL_AWAY" } });
  });

  it("moves again once its gate is approved", () => {
    const held = open.when(proposes({ ...send, gate: "human_confirm" }), starts("c1"));
    expect(answerOf(held.when(approves("c1")))).toBeNull();
    const done = held.when(approves("c1"), starts("c1"), answers("c1", { sent: true }));
    expect(answerOf(done)).toEqual({ status: "succeeded", output: { sent: true } });
  });
});

describe("the text for a model", () => {
  it("is the output itself, and says if nothing was done again", () => {
    expect(modelText({ status: "succeeded", output: "plain" }).text).toBe("plain");
    expect(modelText({ status: "succeeded", output: { a: 1 } }).text).toBe('{"a":1}');
    const reused = { run: "run_1" as never, step: "c1" as StepId, at: 0 as never, differs: null };
    expect(modelText({ status: "succeeded", output: 1, reused }).text).toContain("not done again");
  });

  it("tells a model not to repeat a call that is held or in doubt", () => {
    const doubt = modelText({ status: "in_doubt", fault: fault("OUTCOME_UNKNOWN", "lost"), attempt: 1 });
    expect(doubt.text).toContain("Do not call again");
  });
});
