import { describe, expect, it } from "vitest";
import type { Tenant } from "../../../src/core/values/ids.ts";
import { batchPerTick } from "../../../src/store/postgres/batch-per-tick.ts";

const [acme, globex] = ["acme" as Tenant, "globex" as Tenant];

interface Question {
  readonly tenant: Tenant;
  readonly name: string;
}

/** Makes a batcher that returns each name in capitals, and records the batches. */
function makeBatcher() {
  const calls: string[] = [];
  const ask = batchPerTick<Question, string>(
    ({ name }) => name,
    async (tenant, all) => {
      calls.push(`${tenant}: ${all.map(({ name }) => name).join(" ")}`);
      if (all.some(({ name }) => name === "wrong")) throw new Error("refused");
      return all.map(({ name }) => name.toUpperCase());
    },
  );
  return { calls, ask: (name: string, tenant = acme) => ask({ tenant, name }) };
}

describe("calls in one turn of the event loop", () => {
  it("are sent together, in order, and each gets its own answer", async () => {
    const { calls, ask } = makeBatcher();
    expect(await Promise.all([ask("b"), ask("c"), ask("a")])).toEqual(["B", "C", "A"]);
    expect(await ask("d")).toBe("D");
    expect(calls).toEqual(["acme: a b c", "acme: d"]);
  });

  it("are sent for each tenant separately", async () => {
    const { calls, ask } = makeBatcher();
    expect(await Promise.all([ask("b"), ask("a", globex), ask("a")])).toEqual(["B", "A", "A"]);
    expect(calls).toEqual(["acme: a b", "globex: a"]);
  });

  it("fail together or alone", async () => {
    const { ask } = makeBatcher();
    const answers = await Promise.allSettled([ask("a"), ask("wrong"), ask("a", globex)]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect(await ask("b")).toBe("B");
  });
});
