import { describe, expect, it } from "vitest";
import type { StepId } from "../id.ts";
import { full, lean } from "./plan.ts";

describe("keeping a step in the journal", () => {
  const said = { step_id: "send" as StepId, name: "mail.send", effect: "acts" } as const;

  it("leaves out what the step does not say", () => {
    expect(lean(full(said))).toEqual(said);
  });

  it("leaves out a payload that has nothing of its own", () => {
    const payload = Object.create(Object.assign(Object.create(null), { to: "ana" }));
    expect(lean({ ...full(said), payload })).toEqual(said);
  });

  it("keeps what it says, and gives it back whole", () => {
    const step = full({
      ...said,
      gate: "human_confirm",
      retries: 0,
      payload: { to: "ana" },
      depends_on: ["write" as StepId],
    });
    expect(full(lean(step))).toEqual(step);
    expect(lean(step)).toHaveProperty("retries", 0);
  });
});
