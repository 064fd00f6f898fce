import { describe, expect, it } from "vitest";
import { readPage, sendMail } from "../../testing/given/fixtures.ts";
import type { Tool } from "../tool/tool.ts";
import { buildPlan as plan } from "./plan-builder.ts";

const read = readPage as unknown as Tool;
const send = sendMail as unknown as Tool;

describe("plan", () => {
  it("makes a step of each call, and a binding of each output in an input", () => {
    const made = plan(
      ({ step, add }) => {
        const page = step("read", read, { url: "a" });
        const paid = add({ step_id: "paid", kind: "wait", payload: { signal: "paid" } });
        step(
          "send",
          send,
          { to: "ana", body: page.output.text?.["a/b"] as never, parts: ["x", { of: paid.output }] },
          { depends_on: [page.step_id], retries: 2 },
        );
      },
      { plan_id: "p" },
    );
    expect(made).toEqual({
      plan_id: "p",
      steps: [
        { step_id: "read", name: read.name, payload: { url: "a" } },
        { step_id: "paid", kind: "wait", payload: { signal: "paid" } },
        {
          step_id: "send",
          name: send.name,
          payload: { to: "ana", parts: ["x", {}] },
          bindings: { "/body": { step: "read", path: "/text/a~1b" }, "/parts/1/of": { step: "paid", path: "" } },
          depends_on: ["read"],
          retries: 2,
        },
      ],
    });
  });

  it("keeps the place of an output in a list", () => {
    const made = plan(({ step }) => {
      const page = step("read", read, { url: "a" });
      step("send", send, { list: ["x", page.output] });
    });
    expect(made.steps[1]).toMatchObject({
      payload: { list: ["x", null] },
      bindings: { "/list/1": { step: "read", path: "" } },
    });
  });

  it("refuses an output as a whole input, and an output inside a text", () => {
    const whole = () => plan(({ step }) => void step("send", send, step("read", read, {}).output as never));
    expect(whole).toThrow("send: its input is an output; bind the fields of its input");
    expect(() => plan(({ step }) => void `${step("read", read, {}).output.text}`)).toThrow(TypeError);
  });

  it("leaves values that are not JSON to the check of the plan", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const at = new Date(0);
    const made = plan(({ step }) => void step("send", send, { at, cycle } as never));
    expect(made.steps[0]?.payload?.at).toBe(at);
  });
});
