import assert from "node:assert/strict";
import type { AdapterScenario } from "./adapter-scenario.ts";
import { anaPerson } from "./contract-environment.ts";

const send = (to: string) => ({ tool: "send", input: { to } });
const never = () => new Promise<never>(() => {});

/** Programs that are killed and started again. */
export const crashScenarios: readonly AdapterScenario[] = [
  {
    title: "a program that is killed after its acts is started again, asks for the rest and acts no second time",
    script: () => [{ calls: [send("ana"), send("bo")] }, { text: "done" }],
    play: async (stage) => {
      await stage.ask();
      const asked = stage.model.requests.length;
      stage.kill();
      await stage.restart();
      // The loop that ended is played again only by the direct calls; the record knows both acts.
      if (asked === 0) await stage.ask();
      assert.equal(stage.sent.length, 2);
    },
  },
  {
    title: "a program that is killed while it acts finds the act in doubt, and does not repeat it",
    script: () => [{ calls: [send("ana")] }, { text: "done" }],
    work: { send: never },
    play: async (stage) => {
      stage.ask().catch(() => {});
      await stage.running;
      stage.kill();
      await stage.restart();
      const asked = stage.ask();
      await stage.settle();
      assert.equal(await asked, "done");
      assert.match(stage.told("call_1_1") ?? "", /In doubt: .*Do not call again/);
      assert.equal(stage.sent.length, 1);
    },
  },
  {
    title: "a call that is approved after the kill waits for the program, which makes it once",
    gated: true,
    isCompared: false,
    script: () => [{ calls: [send("ana")] }, { text: "done" }],
    play: async (stage) => {
      await stage.ask();
      stage.kill();
      await stage.restart();
      await stage.engine.approve((await stage.gate("ana")).gate_id, { principal: anaPerson });
      await stage.settle();
      const made = stage.sent.length;
      assert.ok(made <= 1);
      await stage.respond([{ id: "call_1_1", approved: true }]);
      await stage.settle();
      assert.ok(stage.sent.length <= 1);
    },
  },
  {
    title: "a program that is killed before the model's second answer acts once, and asks only for what is missing",
    needs: ["model"],
    script: () => [{ calls: [send("ana"), send("bo")] }, { text: "done" }],
    play: async (stage) => {
      const { requests } = stage.model;
      const asked = stage.ask();
      asked.catch(() => {});
      while (requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
      stage.kill();
      await stage.restart();
      assert.equal(await stage.ask(), "done");
      assert.equal(stage.sent.length, 2);
      assert.ok(requests.length <= 3, "the model is asked again only for the answer that was not on record");
    },
  },
];
