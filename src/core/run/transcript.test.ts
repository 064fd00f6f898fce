import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  does,
  fails,
  proposes,
  resolvedHappened,
  resolves,
  starts,
  timesOut,
} from "../../testing/given/commands.ts";
import { ana, fakeDigest, fakeKey, noon, plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { given, pass } from "../../testing/given/given.ts";
import { fault } from "../values/fault.ts";
import { runTranscript } from "./transcript.ts";

const send = step("send", { tool: sendMail });
const read = step("read", { tool: readPage, payload: { page: 1 } });

describe("the transcript of a run", () => {
  it("lists the calls in order with their inputs and outputs", () => {
    const scenario = given(accepts(plan(read, send))).when(does("read", "text"), pass(5), does("send", { id: "m1" }));
    expect(runTranscript(scenario.events)).toEqual([
      { step_id: "read", tool: readPage.name, attempt: 1, at: noon, input: { page: 1 }, outcome: answered("text") },
      {
        step_id: "send",
        tool: sendMail.name,
        attempt: 1,
        at: noon + 5,
        input: { to: "send" },
        outcome: answered({ id: "m1" }),
      },
    ]);
  });

  it("lists the calls that an agent proposed", () => {
    const scenario = given(accepts(null)).when(proposes(read), does("read", "text"));
    expect(runTranscript(scenario.events)).toMatchObject([
      { step_id: "read", input: { page: 1 }, outcome: answered("text") },
    ]);
  });

  it("shows the input that was derived at the start", () => {
    const scenario = given(accepts(plan(read))).when(
      starts("read", { input: { page: 2 }, derived: true }),
      answers("read", 1),
    );
    expect(runTranscript(scenario.events)).toMatchObject([{ input: { page: 2 } }]);
  });

  it("lists failures, doubts and refusals, and the result that follows", () => {
    const failed = given(accepts(plan(read))).when(
      starts("read"),
      fails("read", "RATE_LIMIT"),
      pass(60_000),
      does("read", 1),
    );
    expect(runTranscript(failed.events)).toMatchObject([
      { attempt: 1, outcome: { kind: "failure", fault: { code: "RATE_LIMIT" } } },
      { attempt: 2, outcome: answered(1) },
    ]);
    const doubted = given(accepts(plan(send))).when(starts("send"), timesOut("send"));
    const doubt = { attempt: 1, outcome: { kind: "doubt", fault: { code: "OUTCOME_UNKNOWN" } } };
    expect(runTranscript(doubted.events)).toMatchObject([doubt]);
    const found = doubted.when(resolves("send", resolvedHappened({ id: "m1" })));
    expect(runTranscript(found.events)).toMatchObject([doubt, { outcome: answered({ id: "m1" }) }]);
    const absent = doubted.when(resolves("send", { as: "absent" }));
    expect(runTranscript(absent.events)).toMatchObject([doubt]);
    const refused = given(accepts(plan(send))).when(starts("send", { flaw: fault("INVALID_INPUT", "no") }));
    expect(runTranscript(refused.events)).toMatchObject([
      { attempt: null, outcome: { kind: "refusal", fault: { code: "INVALID_INPUT" } } },
    ]);
  });

  it("marks a reused result, and shows the approved input instead of the planned one", () => {
    const reused = { output: 1, reused: { run: "run_x", step: "s", at: 0, differs: null } } as never;
    const known = given(accepts(plan(read))).when(starts("read", { reusable: reused }));
    expect(runTranscript(known.events)).toMatchObject([{ outcome: { kind: "answer", reused: true } }]);
    const call = {
      input: { to: "bob" },
      digest: fakeDigest({ to: "bob" }),
      key: fakeKey("b"),
      keyed_by: "input",
    } as const;
    const edited = given(accepts(plan(send), { mode: "human_gated" })).when(
      starts("send"),
      approves("send", ana, { edit: { call } }),
      does("send", 1),
    );
    expect(runTranscript(edited.events)).toMatchObject([{ input: { to: "bob" }, outcome: answered(1) }]);
  });

  it("is empty for a run without calls", () => {
    expect(runTranscript(given(accepts(null)).events)).toEqual([]);
  });
});

function answered(output: unknown) {
  return { kind: "answer", output, reused: false };
}
