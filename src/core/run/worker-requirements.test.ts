import { describe, expect, it } from "vitest";
import { accepts, answers, cancels, delivers, starts } from "../../testing/given/commands.ts";
import { plan, planWait, sendMail, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import { fault } from "../values/fault.ts";
import type { Digest } from "../values/ids.ts";
import { runDueAt } from "./run-wakeups.ts";
import { requirementsMet, toolRequirement, workerRequirements } from "./worker-requirements.ts";

const missing = fault("TOOL_MISSING", "it is not here");
const pin = { version: "1", schema_hash: "ab".repeat(32) as Digest };
const tools = { [sendMail.name]: pin };
const parked = (...ids: readonly string[]) =>
  given(accepts(plan(...ids.map((id) => step(id, { tool: sendMail })), planWait("w", { ms: 5 })), { tools })).when(
    ...ids.map((id) => starts(id, { parked: missing })),
  );

describe("the requirements that a tool meets", () => {
  it("are those of its pin, and of a pin that was made before acts had their own digest", () => {
    const acts = { ...pin, act_hash: "cd".repeat(32) as Digest };
    const other = { ...pin, act_hash: "ef".repeat(32) as Digest };
    expect(requirementsMet("send", acts)).toEqual([toolRequirement("send", acts), toolRequirement("send", pin)]);
    expect(requirementsMet("send", acts)).not.toContain(toolRequirement("send", other));
    expect(requirementsMet("look", pin)).toEqual([toolRequirement("look", pin)]);
  });
});

describe("the worker requirements of a run", () => {
  it("are empty while any worker can continue the run", () => {
    expect(workerRequirements(parked("send").run)).toEqual([]);
    expect(workerRequirements(given(accepts(plan(step("a")))).run)).toEqual([]);
  });

  it("are the tools that its steps wait for, each once, also if a timer is due later", () => {
    const { run } = parked("send", "again").when(starts("w"));
    expect(workerRequirements(run)).toEqual([toolRequirement(sendMail.name, pin)]);
    expect(runDueAt(run)).not.toBeNull();
  });

  it("list at most 64 tools", () => {
    const many = Array.from({ length: 70 }, (_, nth) => ({ ...sendMail, name: `mail.${nth}` }));
    const pins = Object.fromEntries(many.map(({ name }) => [name, pin]));
    const steps = many.map((tool, nth) => step(`s${nth}`, { tool }));
    const scenario = given(accepts(plan(...steps), { tools: pins }));
    const { run } = scenario.when(...steps.map(({ step_id }) => starts(step_id, { parked: missing })));
    const named = new Set(workerRequirements(run));
    expect(named.size).toBe(64);
    expect([...named].filter((need) => !many.some(({ name }) => need === toolRequirement(name, pin)))).toEqual([]);
  });

  it("include the delivery of notices, also after the run has ended", () => {
    const notices = [{ notice_id: "n", topic: "t", payload: null }];
    const scenario = given(accepts(plan(step("a")))).when(starts("a"), answers("a", null, { notices }));
    expect(workerRequirements(scenario.run)).toEqual(["notice"]);
    expect(workerRequirements(scenario.when(delivers("n")).run)).toEqual([]);
  });

  it("include no tool after the run has ended", () => {
    expect(workerRequirements(parked("send").when(starts("w"), cancels).run)).toEqual([]);
  });

  it("differ for another version or schema of a tool", () => {
    expect(toolRequirement("mail.send", pin)).toBe("mail.send@1:abababababababab");
    expect(toolRequirement("mail.send", { ...pin, version: "2" })).not.toBe(toolRequirement("mail.send", pin));
  });
});
