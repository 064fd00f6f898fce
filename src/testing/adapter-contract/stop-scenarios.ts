import assert from "node:assert/strict";
import type { AdapterScenario } from "./adapter-scenario.ts";
import type { ContractEnvironment } from "./contract-environment.ts";

/** Longer than the timeout of any tool of the contract. */
const TIMEOUT_MS = 60_000;
const never = () => new Promise<never>(() => {});

/** Asks, aborts when the tool runs, and waits until the program has noticed. */
async function askAndAbort(stage: ContractEnvironment): Promise<void> {
  const controller = new AbortController();
  const asked = stage.ask(controller.signal).catch(() => null);
  await stage.running;
  controller.abort();
  await asked;
  await stage.settle();
}

/** Tools that do not return, programs that stop, and models that break off. */
export const stopScenarios: readonly AdapterScenario[] = [
  {
    title: "an abort reaches a read that waits for it, and the call is on record as cancelled",
    needs: ["abort"],
    script: () => [{ calls: [{ tool: "search", input: { q: "ana" } }] }, { text: "done" }],
    work: {
      search: (_, signal) =>
        new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("stopped")))),
    },
    play: async (stage) => {
      await askAndAbort(stage);
      const [record] = await stage.record();
      assert.deepEqual(record?.events.at(-1)?.fault, { code: "CANCELLED" });
    },
  },
  {
    title: "a read that ignores the abort holds nothing up",
    needs: ["abort"],
    script: () => [{ calls: [{ tool: "search", input: { q: "ana" } }] }, { text: "done" }],
    work: { search: never },
    play: async (stage) => {
      await askAndAbort(stage);
      await stage.advance(TIMEOUT_MS);
    },
  },
  {
    title: "an act that ignores the abort ends by itself, and its result is on record",
    needs: ["abort"],
    script: () => [{ calls: [{ tool: "send", input: { to: "ana" } }] }, { text: "done" }],
    work: {
      send: (_, signal) =>
        new Promise((resolve) => {
          if (signal === undefined || signal.aborted) resolve("sent");
          else setImmediate(() => setImmediate(() => resolve("sent")));
        }),
    },
    play: async (stage) => {
      await askAndAbort(stage);
      const [record] = await stage.record();
      assert.equal(record?.events.at(-1)?.type, "step.succeeded");
      assert.deepEqual(stage.sent, [{ to: "ana" }]);
    },
  },
  {
    title: "an act that never returns is in doubt after its timeout, and the loop goes on",
    // A client of a server gives up when the timeout aborts it, and a plain function does not.
    isCompared: false,
    script: () => [{ calls: [{ tool: "send", input: { to: "ana" } }] }, { text: "done" }],
    work: { send: never },
    play: async (stage) => {
      const asked = stage.ask();
      await stage.running;
      await stage.advance(TIMEOUT_MS);
      assert.equal(await asked, "done");
      assert.match(stage.told("call_1_1") ?? "", /In doubt: /);
    },
  },
  {
    title: "an error of the provider that the client asks again makes no call twice",
    needs: ["model"],
    maxRetries: 2,
    script: () => {
      let failures = 0;
      return (_, answered) => {
        if (answered === 0) return { calls: [{ tool: "send", input: { to: "ana" } }] };
        failures += 1;
        return failures < 3 ? { status: 500, text: "overloaded" } : { text: "done" };
      };
    },
    play: async (stage) => {
      assert.equal(await stage.ask(), "done");
      assert.deepEqual(stage.sent, [{ to: "ana" }]);
    },
  },
  ...Array.from(
    { length: 12 },
    (_, cutAfter): AdapterScenario => ({
      title: `an answer that is cut after ${cutAfter} pieces makes no call, and the next try makes it once`,
      needs: ["model"],
      script: () => {
        let asked = 0;
        return (_, answered) => {
          if (answered === 1) return { text: "done" };
          asked += 1;
          const call = { calls: [{ tool: "send", input: { to: "ana of the long street" } }] };
          return asked === 1 ? { ...call, cutAfter } : call;
        };
      },
      play: async (stage) => {
        const first = await stage.ask().catch(() => null);
        // A stream that was cut after its end is whole.
        if (first !== "done") {
          assert.deepEqual(stage.sent, []);
          assert.equal(await stage.ask(), "done");
        }
        assert.deepEqual(stage.sent, [{ to: "ana of the long street" }]);
      },
    }),
  ),
];
