import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Entry, Store } from "../../src/core/store/store.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import type { Tenant, WorkerId } from "../../src/core/values/ids.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { deferred, scriptedTool } from "./scripted-tool.ts";

const stock = defineSlice({ name: "stock", shape: "map", entry: z.number() });

/** A store that lists its entries and claims, and may hold an append back or let it fail. */
function listing(stage: EngineFixture, before: (entry: Entry) => Promise<void> | undefined = () => undefined) {
  const real = stage.store();
  const entries: string[][] = [];
  const claims: string[] = [];
  const append: Store["append"] = async (given) => {
    for (const entry of given) await before(entry);
    const landings = await real.append(given);
    for (const [index, { events }] of given.entries())
      if (landings[index]?.landed) entries.push(events.map(({ type }) => type));
    return landings;
  };
  const claim: Store["claim"] = (worker, tenant, run) => {
    claims.push(run);
    return real.claim(worker, tenant, run);
  };
  return { store: { ...real, append, claim }, entries, claims, real };
}

const tenant = botAgent.tenant as Tenant;
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe.each(storeKinds)("a new run, on $name", ({ name, newFixture: newStage }) => {
  /** A tool that counts a fruit of the project. */
  const counts = () =>
    scriptedTool(
      "count",
      ({ input, context }) => {
        const fruits = context.slice(stock);
        fruits.set(input.fruit as string, (fruits.get(input.fruit as string) ?? 0) + 1);
        return {};
      },
      { effect: "writes" },
    );

  const pears = async (engine: Engine) =>
    (await engine.state({ principal: anaPerson, project: "shop" })).slice(stock).get("pear");

  it("that ends in its turn is one entry without a lease and without a timer", async () => {
    const stage = newStage();
    const { store, entries, claims, real } = listing(stage);
    const think = scriptedTool("think", () => ({ answer: 42 }), { effect: "pure" });
    const engine = await stage.open({ store, tools: [think.tool] });
    const { run_id, step } = await engine.call("think", {}, { principal: botAgent });
    expect(step).toMatchObject({ state: "succeeded", output: { answer: 42 } });
    expect(entries.flat()).toEqual(["run.accepted", "step.succeeded", "run.ended"]);
    // Postgres reads the policies in a later turn of the event loop, so the acceptance has an entry of its own there.
    if (name !== "Postgres") expect({ entries: entries.length, claims }).toEqual({ entries: 1, claims: [] });
    while ((await real.holdings(tenant, "", 10)).length > 0) await nextTurn();
    expect(await real.row(tenant, "timer", run_id)).toBeNull();
    expect(await real.holdings(tenant, "", 10)).toEqual([]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("shares its entry with the start of its first act, which is called after the entry", async () => {
    const stage = newStage();
    const held = deferred<void>();
    const { store, entries, claims } = listing(stage, ({ events }) =>
      events.some(({ type }) => type === "run.accepted") ? held.promise : undefined,
    );
    const send = scriptedTool("send", () => ({ id: "m1" }));
    const engine = await stage.open({ store, tools: [send.tool] });
    const calling = engine.call("send", {}, { principal: botAgent });
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(send.calls).toEqual([]);
    held.keep();
    expect((await calling).step.state).toBe("succeeded");
    expect(send.calls).toHaveLength(1);
    expect(claims).toHaveLength(1);
    const stored = [
      ["run.accepted", "step.started"],
      ["step.succeeded", "run.ended"],
    ];
    // Postgres reads the ledger in a later turn of the event loop, so the acceptance may have an entry of its own.
    if (name === "Postgres") expect(entries.flat()).toEqual(stored.flat());
    else expect(entries).toEqual(stored);
  });

  it("is on record before a tool that reads is called for it", async () => {
    const stage = newStage();
    const held = deferred<void>();
    const { store, entries } = listing(stage, () => held.promise);
    const look = scriptedTool("look", () => ({}), { effect: "reads" });
    const engine = await stage.open({ store, tools: [look.tool] });
    const calling = engine.call("look", {}, { principal: botAgent });
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(look.calls).toEqual([]);
    held.keep();
    expect((await calling).step.state).toBe("succeeded");
    expect(entries).toEqual([["run.accepted"], ["step.succeeded", "run.ended"]]);
  });

  it("that the store does not take leaves nothing, and its submitter gets the fault of the store", async () => {
    const stage = newStage();
    let failing = true;
    const { store, entries, real } = listing(stage, () =>
      failing ? Promise.reject(new FaultError(fault("STORE_FAILED", "the disk is full"))) : undefined,
    );
    const count = counts();
    const engine = await stage.open({ store, tools: [count.tool], slices: [stock] });
    const place = { principal: botAgent, project: "shop" };
    await expect(engine.call("count", { fruit: "pear" }, place)).rejects.toThrow(/disk is full/);
    expect(await real.runs(tenant, "", 10)).toEqual([]);
    while ((await real.holdings(tenant, "", 10)).length > 0) await nextTurn();
    expect(entries).toEqual([]);
    failing = false;
    await stage.advance(60_000);
    expect(entries).toEqual([]);
    expect((await engine.call("count", { fruit: "pear" }, place)).step.state).toBe("succeeded");
    expect(await pears(engine)).toBe(1);
    await engine.close();
  });

  it("whose project changes at the same time is decided again, and no write is lost", async () => {
    const stage = newStage();
    const { store } = listing(stage);
    const count = counts();
    const engine = await stage.open({ store, tools: [count.tool], slices: [stock] });
    const place = { principal: botAgent, project: "shop" };
    const calls = Array.from({ length: 20 }, () => engine.call("count", { fruit: "pear" }, place));
    const states = (await Promise.all(calls)).map(({ step }) => step.state);
    expect(new Set(states)).toEqual(new Set(["succeeded"]));
    expect(await pears(engine)).toBe(20);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it.each(["acts", "reads"] as const)(
    "that another worker claims first is not continued here, if its tool %s",
    async (effect) => {
      const stage = newStage();
      const { store, real } = listing(stage);
      const send = scriptedTool("send", () => ({ id: "m1" }), { effect });
      const claim: Store["claim"] = async (worker, of, run) => {
        await real.claim("w_other" as WorkerId, of, run);
        return real.claim(worker, of, run);
      };
      const engine = await stage.open({ store: { ...store, claim }, tools: [send.tool] });
      const { run_id } = await engine.submit({ steps: [{ step_id: "s", name: "send" }] }, { principal: botAgent });
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
      expect(send.calls).toEqual([]);
      expect(await real.head(tenant, run_id)).not.toBeNull();
    },
  );

  it("whose process dies before its first entry leaves nothing behind", async () => {
    const stage = newStage();
    const count = counts();
    const engine = await stage.open({
      tools: [count.tool],
      slices: [stock],
      failpoint: (point) => {
        if (point === "accept.before") void stage.crash();
      },
    });
    void engine.call("count", { fruit: "pear" }, { principal: botAgent, project: "shop" }).catch(() => {});
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    if (name !== "Postgres") expect(count.calls).toHaveLength(1);
    const after = await stage.open({ tools: [count.tool], slices: [stock] });
    expect(await after.runs({ principal: anaPerson })).toMatchObject([]);
    expect(await pears(after)).toBeUndefined();
    expect(await after.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });
});
