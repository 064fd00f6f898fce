import { describe, expect, it } from "vitest";
import { planTool, toolsByName } from "../../../tests/core/plan-fixture.ts";
import { checkPlan } from "./check-plan.ts";
import { PlanCache } from "./plan-cache.ts";

const tools = toolsByName([planTool("ask"), planTool("send", { effect: "acts" })]);
const plan = () => ({ steps: [{ step_id: "a", name: "ask", payload: { list: [{ n: 1 }] } }] });
const newCache = () => new PlanCache(tools, false);

describe("a plan that is submitted again", () => {
  it("is checked as the first one was", () => {
    const cache = newCache();
    const first = cache.check(plan(), {});
    expect(first).toEqual(checkPlan(plan(), { tools, context: {}, strict: false }));
    expect(cache.check(plan(), {})).toBe(first);
  });

  it("does not take changes of the object that was submitted first", () => {
    const cache = newCache();
    const raw = plan();
    cache.check(raw, {});
    raw.steps[0] = { step_id: "b", name: "ask", payload: { list: [] } };
    expect(cache.check(plan(), {})).toEqual(newCache().check(plan(), {}));
    expect(cache.check(raw, {})).toEqual(newCache().check(raw, {}));
  });

  it("cannot be changed through the plan of an earlier run", () => {
    const checked = newCache().check(plan(), {});
    const payload = checked.ok ? (checked.plan.steps[0]?.payload.list as { n: number }[]) : [];
    expect(() => payload.push({ n: 2 })).toThrow(TypeError);
    expect(() => Object.assign(payload[0] as object, { n: 2 })).toThrow(TypeError);
  });

  it.each([
    ["an unknown field", { steps: [{ step_id: "a", name: "ask", payload: { list: [{ n: 1 }] }, else: undefined }] }],
    ["a value that is not JSON", { steps: [{ step_id: "a", name: "ask", payload: { list: [{ n: Number.NaN }] } }] }],
    ["an object with its own text", { steps: [], toJSON: plan }],
  ])("is refused if it has %s, although its text was accepted before", (_, raw) => {
    const cache = newCache();
    cache.check(plan(), {});
    expect(cache.check(raw, {})).toEqual(checkPlan(raw, { tools, context: {}, strict: false }));
    expect(cache.check(raw, {}).ok).toBe(false);
  });

  it("is checked by the context of its own request", () => {
    const cache = newCache();
    const act = { steps: [{ step_id: "a", name: "send", payload: {}, idempotency_template: "{order}" }] };
    expect(cache.check(act, { order: 7 }).ok).toBe(true);
    expect(cache.check(act, {})).toEqual(checkPlan(act, { tools, context: {}, strict: false }));
    expect(cache.check(act, {}).ok).toBe(false);
  });

  it("is checked anew if its tool was replaced or removed", () => {
    const registered = new Map([["ask", planTool("ask")]]);
    const cache = new PlanCache({ get: (name) => registered.get(name), all: () => [...registered.values()] }, false);
    const effects = () => {
      const checked = cache.check(plan(), {});
      return checked.ok ? checked.plan.steps.map(({ effect }) => effect) : "refused";
    };
    expect(effects()).toEqual(["reads"]);
    registered.set("ask", planTool("ask", { effect: "acts" }));
    expect(effects()).toEqual(["acts"]);
    registered.delete("ask");
    expect(effects()).toBe("refused");
  });

  it("is checked anew after many other plans", () => {
    const cache = newCache();
    const first = cache.check(plan(), {});
    for (let n = 0; n < 200; n += 1)
      expect(cache.check({ steps: [{ step_id: "a", name: "ask", payload: { n } }] }, {}).ok).toBe(true);
    expect(cache.check(plan(), {})).not.toBe(first);
    expect(cache.check(plan(), {})).toEqual(first);
  });
});
