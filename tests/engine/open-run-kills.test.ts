import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { anaPerson, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { gated, gateOf, mailTool, openChat, searchTool } from "./open-run-fixture.ts";

/** Kills the process before its nth append, or after the append landed and before its answer. */
interface Kill {
  readonly append: number;
  readonly when: "before" | "after";
}

class KilledLoop {
  readonly sent = mailTool();
  readonly found = searchTool();
  readonly #stage: EngineFixture;
  #isDead = false;

  constructor(stage: EngineFixture) {
    this.#stage = stage;
  }

  /** Runs the loop in a new process. Returns the number of its appends, or null if it was killed. */
  async start(kill: Kill | null): Promise<number | null> {
    this.#isDead = false;
    let appends = 0;
    const real = this.#stage.store();
    const append: Store["append"] = async (entries) => {
      appends += 1;
      if (kill?.append === appends && kill.when === "before") return this.#die();
      const landed = await real.append(entries);
      return kill?.append === appends && kill.when === "after" ? this.#die() : landed;
    };
    const tools = [this.sent.tool, this.found.tool];
    const engine = await this.#stage.open({ tools, ...gated, store: { ...real, append } });
    let ended = false;
    const loop = this.#loop(engine).then(() => {
      ended = true;
    });
    for (let passed = 0; !ended && !this.#isDead && passed < 120_000; passed += 250) await this.#stage.advance(250);
    if (this.#isDead) return null;
    await loop;
    await engine.close();
    return appends;
  }

  #die(): Promise<never> {
    this.#isDead = true;
    void this.#stage.crash();
    return new Promise(() => {});
  }

  /** The loop of an agent, and the person who approves and settles its acts. */
  async #loop(engine: Engine): Promise<void> {
    const run = await openChat(engine, { waitMs: 60_000 });
    const [read, act] = await run.callTools([
      { id: "1", tool: "search", input: { q: 1 } },
      { id: "2", tool: "mail", input: { to: "ana" } },
    ]);
    expect(read).toEqual({ status: "succeeded", output: { found: 1 } });
    if (act?.status === "held") await engine.approve(gateOf(act), { principal: anaPerson });
    const done = await run.findCall("2");
    if (done?.status === "in_doubt")
      await engine.resolve(run.run_id, "c2", { principal: anaPerson, as: "happened", output: { id: "c2" } });
    expect(await run.findCall("2")).toEqual({ status: "succeeded", output: { id: "c2" } });
    await run.release();
  }
}

describe.each(storeKinds)("an open run whose process is killed, on $name", ({ newFixture }) => {
  it.each(["before", "after"] as const)(
    "%s any append continues in the next process: no act is repeated, no answer is lost, nothing is stuck",
    async (when) => {
      const appends = await new KilledLoop(newFixture()).start(null);
      expect(appends).toBeGreaterThan(5);
      for (let append = 1; append <= Number(appends); append += 1) {
        const stage = newFixture();
        const loop = new KilledLoop(stage);
        await loop.start({ append, when });
        await loop.start(null);
        expect(loop.sent.calls.length, `killed ${when} append ${append}`).toBe(1);
        expect(loop.found.calls.length).toBeLessThanOrEqual(2); // A read whose answer was not recorded is asked again.
        const engine = await stage.open({ tools: [], work: false });
        expect(await engine.audit({ principal: anaPerson })).toMatchObject({ runs: 1, broken: [], rows: [] });
      }
    },
  );
});
