import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Store } from "../../src/core/store/store.ts";
import type { Engine, RunHandle } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";

const bot = { id: "bot", kind: "agent", tenant: "acme" } as const;
const ana = { id: "ana", kind: "person", tenant: "acme" } as const;
const word = z.object({ word: z.string() });
const tools = [
  defineTool({ name: "mail.send", effect: "acts", input: word, output: word, run: async (given) => given }),
  defineTool({ name: "text.echo", effect: "reads", input: word, output: word, run: async (given) => given }),
];
const held = { steps: [{ step_id: "send", name: "mail.send", payload: { word: "hello" } }] };

/** The runs whose journals or rows were read, in order. */
let reads: string[];
let engine: Engine;
beforeEach(async () => {
  reads = [];
  const store = memoryStore();
  const counting: Store = {
    ...store,
    head: (tenant, run) => {
      reads.push(run);
      return store.head(tenant, run);
    },
    events: (tenant, run, ...range) => {
      reads.push(run);
      return store.events(tenant, run, ...range);
    },
  };
  engine = await createEngine({ store: counting, tools });
});
afterEach(() => engine.close());

const heldRuns = (count: number): Promise<readonly RunHandle[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const run = await engine.submit(held, { principal: bot });
      await run.result();
      return run;
    }),
  );

/** Makes calls in other runs, and returns how often the given runs were read meanwhile. */
async function readsDuringCalls(runs: readonly RunHandle[], calls: number): Promise<number> {
  const ids = new Set<string>(runs.map(({ run_id }) => run_id));
  reads = [];
  for (let call = 0; call < calls; call += 1) await engine.call("text.echo", { word: "x" }, { principal: bot });
  return reads.filter((run) => ids.has(run)).length;
}

describe("callers that wait for runs which people hold", () => {
  it("cost the calls of other runs nothing", async () => {
    const runs = await heldRuns(10);
    const stop = new AbortController();
    const finished = runs.map((run) => run.finished());
    const followed = runs.map(async (run) => {
      let last = 0;
      for await (const { position } of run.events({ follow: true, signal: stop.signal })) last = position;
      return last;
    });
    await readsDuringCalls(runs, 1);
    expect(await readsDuringCalls(runs, 20)).toBe(0);
    for (const gate of await engine.gates({ principal: ana, status: "open" }))
      await engine.approve(gate.gate_id, { principal: ana });
    expect((await Promise.all(finished)).map(({ status }) => status)).toEqual(Array(10).fill("completed"));
    for (const last of await Promise.all(followed)) expect(last).toBeGreaterThan(3);
  });

  it.each(["result", "finished"] as const)("stop to wait for run.%s when their signal aborts", async (wait) => {
    const [run] = (await heldRuns(1)) as [RunHandle];
    const reason = new Error("the caller has gone");
    await expect(run[wait]({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const stop = new AbortController();
    const waiting = run.finished({ signal: stop.signal });
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await run.cancel();
    expect((await run.finished({ signal: new AbortController().signal })).status).toBe("cancelled");
  });

  it("refuse unknown options", async () => {
    const [run] = (await heldRuns(1)) as [RunHandle];
    await expect(run.result({ timeout: 1 } as never)).rejects.toMatchObject({ fault: { code: "INVALID_INPUT" } });
  });
});
