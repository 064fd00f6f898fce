import { describe, expect, it } from "vitest";
import type { Event } from "../event/event.ts";
import { isProgress } from "./parked-run.ts";

const event = (type: string, more: object = {}) => ({ type, ...more }) as unknown as Event;

describe("isProgress", () => {
  it.each([
    "run.taken",
    "run.poisoned",
    "step.started",
    "step.doubted",
    "step.probed",
    "step.readied",
    "evidence.kept",
  ])("is false for %s", (type) => expect(isProgress(event(type))).toBe(false));

  it.each(["step.succeeded", "step.failed", "gate.opened", "cancel.requested", "run.ended"])("is true for %s", (type) =>
    expect(isProgress(event(type))).toBe(true),
  );

  it("is true for an act that is settled as happened or given up, and false for an absent one", () => {
    const settled = (as: string) => isProgress(event("step.settled", { settled: { as } }));
    expect(["happened", "given_up", "absent"].map(settled)).toEqual([true, true, false]);
  });
});
