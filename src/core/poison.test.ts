import { describe, expect, it } from "vitest";
import type { Event } from "./event.ts";
import { isProgress } from "./poison.ts";

const event = (type: string, more: object = {}) => ({ type, ...more }) as unknown as Event;

describe("what a run has to show for being taken up", () => {
  it.each([
    "run.taken",
    "run.poisoned",
    "step.started",
    "step.doubted",
    "step.probed",
    "step.readied",
    "evidence.kept",
  ])("is not that %s", (type) => expect(isProgress(event(type))).toBe(false));

  it.each(["step.succeeded", "step.failed", "gate.opened", "cancel.requested", "run.ended"])("is that %s", (type) =>
    expect(isProgress(event(type))).toBe(true),
  );

  it("is an act that is settled as done or given up, not one that is made again", () => {
    const settled = (as: string) => isProgress(event("step.settled", { settled: { as } }));
    expect(["happened", "given_up", "absent"].map(settled)).toEqual([true, true, false]);
  });
});
