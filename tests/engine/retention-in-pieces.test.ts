import { describe, expect, it } from "vitest";
import type { Erasure, Store } from "../../src/core/store/store.ts";
import type { Instant, RunId, Tenant } from "../../src/core/values/ids.ts";
import { erasurePiece } from "../../src/engine/admin/retention/erase-in-pieces.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

const count = 2 * erasurePiece.bodies + 10;
const tenant = "acme" as Tenant;

describe.each(storeKinds)("retention of a long run, on $name", ({ newFixture }) => {
  /** Executes a run of more events than one erasure takes. `failFrom`: the erasure that fails, and all after it. */
  async function longRun(failFrom = Number.POSITIVE_INFINITY) {
    const stage = newFixture();
    const { tool } = scriptedTool("look", () => ({ seen: true }), { effect: "reads" });
    const erasures: Erasure[] = [];
    const failing = { from: failFrom };
    const wrap = (store: Store): Store => ({
      ...store,
      erase: async (what, hashOf) => {
        if (erasures.length >= failing.from) throw new Error("the process is killed");
        erasures.push(what);
        return store.erase(what, hashOf);
      },
    });
    const engine = await stage.open({ store: wrap(stage.store()), tools: [tool], tenants: {} });
    const plan = { steps: Array.from({ length: count }, (_, at) => ({ step_id: `s${at}`, name: "look" })) };
    const run = await engine.submit(plan, { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    stage.clock.advance(1000);
    const retain = () => engine.retain({ principal: anaPerson, endedBefore: (stage.clock.now() - 1) as Instant });
    const bodies = async () => {
      const events = await stage.store().events(tenant, run.run_id as RunId, 0);
      return events.filter(({ body }) => body !== null).length;
    };
    return { engine, erasures, failing, retain, bodies };
  }

  it("erases at most 500 bodies at once, and all of them", async () => {
    const { engine, erasures, retain, bodies } = await longRun();
    const before = await bodies();
    expect(await retain()).toMatchObject({ runs: 1, events: before });
    const sizes = erasures.map(({ position, keep }) => position - keep.length);
    expect(sizes.slice(0, 2)).toEqual([erasurePiece.bodies, erasurePiece.bodies]);
    expect(Math.max(...sizes)).toBe(erasurePiece.bodies);
    expect(await bodies()).toBe(0);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("continues after a failure between two pieces, and the audit finds nothing broken", async () => {
    const { engine, failing, retain, bodies } = await longRun(1);
    const before = await bodies();
    await expect(retain()).rejects.toThrow();
    expect(await bodies()).toBe(before - erasurePiece.bodies);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
    failing.from = Number.POSITIVE_INFINITY;
    await retain();
    expect(await bodies()).toBe(0);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });
});
