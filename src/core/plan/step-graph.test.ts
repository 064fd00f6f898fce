import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StepId } from "../values/ids.ts";
import type { PlanStep } from "./plan.ts";
import { dependentSteps, findCycles } from "./step-graph.ts";

function step(step_id: string, ...depends_on: readonly string[]): PlanStep {
  return { step_id: step_id as StepId, depends_on: depends_on as readonly StepId[] } as PlanStep;
}

describe("the dependents of a plan", () => {
  it("are the indices of the steps that depend on each step", () => {
    const steps = [step("c", "a", "b"), step("a"), step("b", "a"), step("d")];
    expect(dependentSteps({ steps })).toEqual([[], [0, 2], [0], []]);
  });
});

describe("the cycles of a graph", () => {
  it.each([
    [[], []],
    [[[], [0], [0, 1]], []],
    [[[0]], [[0, 0]]],
    [[[1], [0]], [[0, 1, 0]]],
    [[[1], [2], [0], [2]], [[0, 1, 2, 0]]],
    [[[1], [2], [1]], [[1, 2, 1]]],
    [
      [[1], [0], [3], [2]],
      [
        [0, 1, 0],
        [2, 3, 2],
      ],
    ],
  ])("of %j are %j", (needs, expected) => {
    expect(findCycles(needs)).toEqual(expected);
  });

  it("are valid cycles, and there are none exactly if a topological order exists", () => {
    const graphs = fc
      .nat(12)
      .chain((size) =>
        fc.array(fc.array(fc.nat(Math.max(0, size - 1)), { maxLength: 3 }), { minLength: size, maxLength: size }),
      );
    fc.assert(
      fc.property(graphs, (needs) => {
        const found = findCycles(needs);
        for (const cycle of found) {
          expect(cycle[0]).toBe(cycle.at(-1));
          for (const [index, at] of cycle.slice(1).entries()) expect(needs[cycle[index] as number]).toContain(at);
        }
        expect(found.length === 0).toBe(hasOrder(needs));
      }),
    );
  });
});

/** By brute force: repeatedly removes the nodes whose dependencies are all removed. */
function hasOrder(needs: readonly (readonly number[])[]): boolean {
  const done = new Set<number>();
  for (let round = 0; round <= needs.length; round += 1) {
    for (const [at, list] of needs.entries()) if (list.every((need) => done.has(need))) done.add(at);
  }
  return done.size === needs.length;
}
