import { describe, expect, it } from "vitest";
import type { Done } from "../../src/core/tool.ts";
import { actor, eventsOf, throws } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const minute = 60_000;
const send = { step_id: "send", name: "send", payload: { to: "ana" } };

/** What the simulator found first, told as stories. */
describe.each(places)("on $name", ({ newStage }) => {
  it("a run that ends anew, as it had ended before, still passes its audit", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [actor("send", throws("NETWORK_TIMEOUT")).tool] });
    const run = await engine.submit({ steps: [send] }, { principal: bot });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: ana, as: "give_up" });
    await run.finished();
    await stage.pass(minute);
    await engine.resume(run.run_id, { principal: ana });
    const ended = (await eventsOf(run, "run.ended")).at(-1);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
    expect(await engine.runs({ principal: ana })).toMatchObject([{ status: "failed", ended_at: ended?.at }]);
  });

  it("an act that its plan gives more time is not called absent before that time has passed", async () => {
    const stage = newStage();
    const seen: number[] = [];
    const verify = async () => {
      seen.push(stage.clock.now());
      return { saw: "absent" } as const;
    };
    const tool = actor("send", [throws("NETWORK_TIMEOUT"), () => ({})], {
      verify,
      timeoutMs: 1000,
      settleAfter: 1000,
    }).tool;
    const engine = await stage.open({ tools: [tool] });
    const run = await engine.submit({ steps: [{ ...send, timeout_ms: 10 * minute }] }, { principal: bot });
    expect((await stage.rest(run)).final).toBe(false);
    for (let passed = 0; passed < 12; passed += 1) await stage.pass(minute);
    const [doubted] = await eventsOf(run, "step.doubted");
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBeGreaterThanOrEqual((doubted?.at ?? 0) + 10 * minute + 1000);
  });

  it("an undo receives the key that its act was done under, also when that was done again", async () => {
    const stage = newStage();
    const undone: Done[] = [];
    const compensate = async (done: Done) => {
      undone.push(done);
    };
    const mail = actor("send", () => ({}), { identity: ["to"], compensate: compensate as never });
    const engine = await stage.open({ tools: [mail.tool] });
    await (await engine.submit({ steps: [send] }, { principal: bot })).result();
    const again = await engine.submit({ steps: [send] }, { principal: bot });
    const [gate] = (await again.result()).gates;
    await engine.approve(gate?.gate_id ?? "", { principal: ana });
    await again.result();
    await engine.resolve(again.run_id, "send", { principal: ana, as: "undo" });
    await again.finished();
    expect(undone.map(({ key }) => key)).toEqual([mail.calls[1]?.context.key]);
    expect(mail.calls[1]?.context.key).not.toBe(mail.calls[0]?.context.key);
  });
});
