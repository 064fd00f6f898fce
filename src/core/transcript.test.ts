import { describe, expect, it } from "vitest";
import { ana, digestOf, keyOf, noon, plan, readPage, sendMail, step } from "../testing/given/cast.ts";
import {
  accepts,
  answers,
  approves,
  does,
  fails,
  goesUnheard,
  happened,
  proposes,
  resolves,
  starts,
} from "../testing/given/moves.ts";
import { given, pass } from "../testing/given.ts";
import { fault } from "./fault.ts";
import { transcriptOf } from "./transcript.ts";

const send = step("send", { tool: sendMail });
const read = step("read", { tool: readPage, payload: { page: 1 } });

describe("what was asked of tools and what they answered", () => {
  it("is told call by call, in order, with what each was given", () => {
    const told = given(accepts(plan(read, send))).when(does("read", "text"), pass(5), does("send", { id: "m1" }));
    expect(transcriptOf(told.past)).toEqual([
      { step_id: "read", tool: readPage.name, attempt: 1, at: noon, input: { page: 1 }, came: answered("text") },
      {
        step_id: "send",
        tool: sendMail.name,
        attempt: 1,
        at: noon + 5,
        input: { to: "send" },
        came: answered({ id: "m1" }),
      },
    ]);
  });

  it("has what an agent proposed one by one, too", () => {
    const told = given(accepts(null)).when(proposes(read), does("read", "text"));
    expect(transcriptOf(told.past)).toMatchObject([{ step_id: "read", input: { page: 1 }, came: answered("text") }]);
  });

  it("tells the input that came about only then", () => {
    const told = given(accepts(plan(read))).when(
      starts("read", { input: { page: 2 }, derived: true }),
      answers("read", 1),
    );
    expect(transcriptOf(told.past)).toMatchObject([{ input: { page: 2 } }]);
  });

  it("says of a failure, a doubt and a refusal what they were, and what became of them", () => {
    const failed = given(accepts(plan(read))).when(
      starts("read"),
      fails("read", "RATE_LIMIT"),
      pass(60_000),
      does("read", 1),
    );
    expect(transcriptOf(failed.past)).toMatchObject([
      { attempt: 1, came: { of_it: "failure", fault: { code: "RATE_LIMIT" } } },
      { attempt: 2, came: answered(1) },
    ]);
    const doubted = given(accepts(plan(send))).when(starts("send"), goesUnheard("send"));
    const doubt = { attempt: 1, came: { of_it: "doubt", fault: { code: "OUTCOME_UNKNOWN" } } };
    expect(transcriptOf(doubted.past)).toMatchObject([doubt]);
    const found = doubted.when(resolves("send", happened({ id: "m1" })));
    expect(transcriptOf(found.past)).toMatchObject([doubt, { came: answered({ id: "m1" }) }]);
    const absent = doubted.when(resolves("send", { as: "absent" }));
    expect(transcriptOf(absent.past)).toMatchObject([doubt]);
    const refused = given(accepts(plan(send))).when(starts("send", { flaw: fault("INVALID_INPUT", "no") }));
    expect(transcriptOf(refused.past)).toMatchObject([
      { attempt: null, came: { of_it: "refusal", fault: { code: "INVALID_INPUT" } } },
    ]);
  });

  it("says so where the record answered, and has what was approved in place of what was planned", () => {
    const reused = { output: 1, reused: { run: "run_x", step: "s", at: 0, differs: null } } as never;
    const known = given(accepts(plan(read))).when(starts("read", { reusable: reused }));
    expect(transcriptOf(known.past)).toMatchObject([{ came: { of_it: "answer", reused: true } }]);
    const call = { input: { to: "bob" }, digest: digestOf({ to: "bob" }), key: keyOf("b"), keyed_by: "input" } as const;
    const edited = given(accepts(plan(send), { mode: "human_gated" })).when(
      starts("send"),
      approves("send", ana, { edit: { call } }),
      does("send", 1),
    );
    expect(transcriptOf(edited.past)).toMatchObject([{ input: { to: "bob" }, came: answered(1) }]);
  });

  it("says nothing of a run that asked for nothing", () => {
    expect(transcriptOf(given(accepts(null)).past)).toEqual([]);
  });
});

function answered(output: unknown) {
  return { of_it: "answer", output, reused: false };
}
