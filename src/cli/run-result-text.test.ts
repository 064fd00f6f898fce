import { describe, expect, it } from "vitest";
import { runResult } from "../core/run/run-result.ts";
import type { Epoch, StepId, WorkerId } from "../core/values/ids.ts";
import { accepts, recovers } from "../testing/given/commands.ts";
import { hireRun, plan, step } from "../testing/given/fixtures.ts";
import { type GivenRun, given } from "../testing/given/given.ts";
import { runResultLines } from "./run-result-text.ts";
import { textStyle } from "./text-style.ts";

const commandLine = (...words: readonly string[]) => `writ ${words.join(" ")}`;

describe("poisoned run", () => {
  it("is printed with its lost workers, their running steps and the commands to resume or cancel", () => {
    const taken = { by: "w2" as WorkerId, from: "w1" as WorkerId, epoch: 2 as Epoch, most: 1 };
    const { run } = given(accepts(plan(step("look")))).when(
      (told: GivenRun) => ({ ...recovers()(told), taken }) as never,
    );
    expect(run.takeovers[0]?.steps).toEqual(["look" as StepId]);
    const context = { commandLine, canExecute: true, adminRole: null, tool: () => undefined };
    const facts = { requester: null, steps: new Map() };
    const style = textStyle({ colors: false, host: { zone: "UTC" } });
    const text = runResultLines(runResult(run), facts, context, style).map((line) => line.text);
    expect(text[0]).toBe(`poison  ${hireRun}  plan ${run.plan?.plan_id}`.replace("  plan null", ""));
    expect(text.join("\n")).toContain("w1 lost it before");
    expect(text.join("\n")).toContain("running: look");
    expect(text.join("\n")).toContain(`writ resume ${hireRun}`);
  });
});
