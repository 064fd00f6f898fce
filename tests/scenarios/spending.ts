import { expect } from "vitest";
import type { Engine } from "../../src/engine/api.ts";
import { ana, bot, type Stage } from "./stage.ts";

/** A plan of one call. */
export const one = (name: string, more: object = {}) => ({ steps: [{ step_id: "a", name, payload: {}, ...more }] });

/** What every tally has come to, those of the budgets only. */
export async function used(stage: Stage, of = "budget/"): Promise<Readonly<Record<string, number>>> {
  const tallies = await stage.store().tallies("acme" as never, "", 100);
  return Object.fromEntries(
    tallies.filter(({ tally }) => tally.startsWith(of)).map(({ tally, used }) => [tally, used]),
  );
}

/** How calls that are made at once end; which of them comes first is not said. */
export async function states(engine: Engine, stage: Stage, name: string, count: number): Promise<readonly string[]> {
  const runs = await Promise.all(Array.from({ length: count }, () => engine.submit(one(name), { principal: bot })));
  const results = [];
  for (const run of runs) results.push(await stage.rest(run));
  return results.map(({ steps }) => steps.a?.state as string).sort();
}

export const isSound = async (engine: Engine) =>
  expect(await engine.audit({ principal: ana })).toMatchObject({ broken: [], tallies: [] });
