import { describe, expect, it } from "vitest";
import type { Epoch, RunId } from "../src/core/id.ts";
import type { Check } from "../src/core/store.ts";
import { batchOf } from "../src/store/postgres/batch.ts";
import { wholeCall } from "../src/store/postgres/whole.ts";
import { dueAt, entry, hire, order } from "../src/testing/store-contract/law.ts";

type Wish = Parameters<typeof entry>[0];

const relied: Check = { table: "setting", key: "policy", was: 1 };
const timer = { table: "timer", was: "any", row: dueAt(1) } as const;

describe("a batch of which everything is expected to land", () => {
  it.each<[string, Wish]>([
    ["begins a run", { puts: [{ ...timer, key: hire }] }],
    ["goes on with one", { at: 3, epoch: 2 as Epoch }],
    ["puts a row over another", { puts: [{ table: "ledger", key: "a", was: 1, row: "{}" }] }],
    ["has glanced at something", { checks: [{ ...relied, glance: "house" }] }],
  ])("is sent as one whole if each %s", (_, wish) => {
    expect(wholeCall(batchOf([entry(wish)]))?.name).toBe("append_all");
  });

  it.each<[string, Wish]>([
    ["charges something, which has to be counted", { charges: [{ tally: "usd", amount: 1, limit: 2 }] }],
    ["relies on a row that it does not write", { checks: [relied] }],
    ["begins a run that someone is said to hold", { epoch: 1 as Epoch }],
    ["times another run", { puts: [{ ...timer, key: "run-other" }] }],
    ["removes a row of a certain version", { puts: [{ table: "ledger", key: "a", was: 1, row: null }] }],
    ["tells nothing", { events: [] }],
  ])("is judged entry by entry if one %s", (_, wish) => {
    expect(wholeCall(batchOf([entry({ run: "run-other" as RunId }), entry({ run: order, ...wish })]))).toBeNull();
  });
});
