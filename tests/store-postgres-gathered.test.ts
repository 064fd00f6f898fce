import { describe, expect, it } from "vitest";
import type { Tenant } from "../src/core/id.ts";
import { gathered } from "../src/store/postgres/gathered.ts";

const [acme, globex] = ["acme" as Tenant, "globex" as Tenant];

interface Question {
  readonly tenant: Tenant;
  readonly name: string;
}

/** Answers with the name in capitals, and remembers what was asked together. */
function desk() {
  const calls: string[] = [];
  const ask = gathered<Question, string>(
    ({ name }) => name,
    async (tenant, all) => {
      calls.push(`${tenant}: ${all.map(({ name }) => name).join(" ")}`);
      if (all.some(({ name }) => name === "wrong")) throw new Error("refused");
      return all.map(({ name }) => name.toUpperCase());
    },
  );
  return { calls, ask: (name: string, tenant = acme) => ask({ tenant, name }) };
}

describe("what is asked in one turn of the event loop", () => {
  it("is asked together, in order, and each is told its own answer", async () => {
    const { calls, ask } = desk();
    expect(await Promise.all([ask("b"), ask("c"), ask("a")])).toEqual(["B", "C", "A"]);
    expect(await ask("d")).toBe("D");
    expect(calls).toEqual(["acme: a b c", "acme: d"]);
  });

  it("is asked of each tenant by itself", async () => {
    const { calls, ask } = desk();
    expect(await Promise.all([ask("b"), ask("a", globex), ask("a")])).toEqual(["B", "A", "A"]);
    expect(calls).toEqual(["acme: a b", "globex: a"]);
  });

  it("fails together, and alone", async () => {
    const { ask } = desk();
    const answers = await Promise.allSettled([ask("a"), ask("wrong"), ask("a", globex)]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect(await ask("b")).toBe("B");
  });
});
