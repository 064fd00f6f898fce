import { describe, expect, it } from "vitest";
import { plan, sendMail, step, wait } from "../testing/given/cast.ts";
import { accepts, answers, cancels, delivers, starts } from "../testing/given/moves.ts";
import { given } from "../testing/given.ts";
import { fault } from "./fault.ts";
import type { Digest } from "./id.ts";
import { needsOf, toolNeed } from "./need.ts";
import { dueAt } from "./run.ts";

const missing = fault("TOOL_MISSING", "it is not here");
const pin = { version: "1", schema_hash: "ab".repeat(32) as Digest };
const tools = { [sendMail.name]: pin };
const parked = (...ids: readonly string[]) =>
  given(accepts(plan(...ids.map((id) => step(id, { tool: sendMail })), wait("w", { ms: 5 })), { tools })).when(
    ...ids.map((id) => starts(id, { parked: missing })),
  );

describe("what a run needs of a worker", () => {
  it("is nothing, while there is something to do for anyone", () => {
    expect(needsOf(parked("send").run)).toEqual([]);
    expect(needsOf(given(accepts(plan(step("a")))).run)).toEqual([]);
  });

  it("are the tools its steps wait for, each once, beside the time that any worker sees to", () => {
    const { run } = parked("send", "again").when(starts("w"));
    expect(needsOf(run)).toEqual([toolNeed(sendMail.name, pin)]);
    expect(dueAt(run)).not.toBeNull();
  });

  it("are so many at once and no more; the others are told when one of these was met", () => {
    const many = Array.from({ length: 70 }, (_, nth) => ({ ...sendMail, name: `mail.${nth}` }));
    const pins = Object.fromEntries(many.map(({ name }) => [name, pin]));
    const steps = many.map((tool, nth) => step(`s${nth}`, { tool }));
    const told = given(accepts(plan(...steps), { tools: pins }));
    const { run } = told.when(...steps.map(({ step_id }) => starts(step_id, { parked: missing })));
    const named = new Set(needsOf(run));
    expect(named.size).toBe(64);
    expect([...named].filter((need) => !many.some(({ name }) => need === toolNeed(name, pin)))).toEqual([]);
  });

  it("is somebody who takes its notices, also when it has ended", () => {
    const notices = [{ notice_id: "n", topic: "t", payload: null }];
    const told = given(accepts(plan(step("a")))).when(starts("a"), answers("a", null, { notices }));
    expect(needsOf(told.run)).toEqual(["notice"]);
    expect(needsOf(told.when(delivers("n")).run)).toEqual([]);
  });

  it("is no tool any more, once it has ended", () => {
    expect(needsOf(parked("send").when(starts("w"), cancels).run)).toEqual([]);
  });

  it("is another for another version or shape of a tool", () => {
    expect(toolNeed("mail.send", pin)).toBe("mail.send@1:abababababababab");
    expect(toolNeed("mail.send", { ...pin, version: "2" })).not.toBe(toolNeed("mail.send", pin));
  });
});
