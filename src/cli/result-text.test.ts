import picocolors from "picocolors";
import { describe, expect, it } from "vitest";
import type { Epoch, StepId, WorkerId } from "../core/id.ts";
import { resultOf } from "../core/result.ts";
import { hire, plan, step } from "../testing/given/cast.ts";
import { accepts, recovers } from "../testing/given/moves.ts";
import { given, type Told } from "../testing/given.ts";
import { resultLines } from "./result-text.ts";

const tell = (...words: readonly string[]) => `writ ${words.join(" ")}`;

describe("a run that was parked", () => {
  it("is shown with who lost it and what was under way, and how to let it go on", () => {
    const taken = { by: "w2" as WorkerId, from: "w1" as WorkerId, epoch: 2 as Epoch, most: 1 };
    const { run } = given(accepts(plan(step("look")))).when((told: Told) => ({ ...recovers()(told), taken }) as never);
    expect(run.takeovers[0]?.steps).toEqual(["look" as StepId]);
    const text = resultLines(resultOf(run), tell, picocolors.createColors(false)).map((line) => line.text);
    expect(text[0]).toBe(`poison  ${hire}  plan ${run.plan?.plan_id}`.replace("  plan null", ""));
    expect(text.join("\n")).toContain("w1 had lost it by");
    expect(text.join("\n")).toContain("under way: look");
    expect(text.join("\n")).toContain(`writ resume ${hire}`);
  });
});
