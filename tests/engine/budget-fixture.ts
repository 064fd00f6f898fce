import { expect } from "vitest";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, type EngineFixture } from "./engine-fixture.ts";

/** A plan of one call. */
export const singleCallPlan = (name: string, more: object = {}) => ({
  steps: [{ step_id: "a", name, payload: {}, ...more }],
});

/** Returns the used amount of each tally, by default only of budgets. */
export async function usedTallies(stage: EngineFixture, of = "budget/"): Promise<Readonly<Record<string, number>>> {
  const tallies = await stage.store().tallies("acme" as never, "", 100);
  return Object.fromEntries(
    tallies.filter(({ tally }) => tally.startsWith(of)).map(({ tally, used }) => [tally, used]),
  );
}

/** Makes calls concurrently and returns their final states, sorted. */
export async function finalStepStates(
  engine: Engine,
  stage: EngineFixture,
  name: string,
  count: number,
): Promise<readonly string[]> {
  const runs = await Promise.all(
    Array.from({ length: count }, () => engine.submit(singleCallPlan(name), { principal: botAgent })),
  );
  const results = [];
  for (const run of runs) results.push(await stage.runUntilIdle(run));
  return results.map(({ steps }) => steps.a?.state as string).sort();
}

export const expectCleanAudit = async (engine: Engine) =>
  expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
