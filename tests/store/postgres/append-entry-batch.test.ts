import { describe, expect, it } from "vitest";
import type { Check } from "../../../src/core/store/store.ts";
import type { Epoch, RunId } from "../../../src/core/values/ids.ts";
import { createBatch } from "../../../src/store/postgres/append-batch.ts";
import { wholeBatchCall } from "../../../src/store/postgres/whole-batch-call.ts";
import { buildEntry, runA, runB, timerJson } from "../../../src/testing/store-contract/contract-rule.ts";

type EntryOptions = Parameters<typeof buildEntry>[0];

const check: Check = { table: "setting", key: "policy", was: 1 };
const timer = { table: "timer", was: "any", row: timerJson(1) } as const;

describe("batch without conditions that need a check per entry", () => {
  it.each<[string, EntryOptions]>([
    ["starts a run", { puts: [{ ...timer, key: runA }] }],
    ["continues a run", { at: 3, epoch: 2 as Epoch }],
    ["replaces a row", { puts: [{ table: "ledger", key: "a", was: 1, row: "{}" }] }],
    ["has a glance", { checks: [{ ...check, glance: "house" }] }],
  ])("is sent as one call if each %s", (_, options) => {
    expect(wholeBatchCall(createBatch([buildEntry(options)]))?.name).toBe("append_all");
  });

  it.each<[string, EntryOptions]>([
    ["has a charge, which needs the amount of the tally", { charges: [{ tally: "usd", amount: 1, limit: 2 }] }],
    ["checks a row that it does not write", { checks: [check] }],
    ["starts a run with an epoch", { epoch: 1 as Epoch }],
    ["sets the timer of another run", { puts: [{ ...timer, key: "run-other" }] }],
    ["removes a row with a version condition", { puts: [{ table: "ledger", key: "a", was: 1, row: null }] }],
    ["has no events", { events: [] }],
  ])("is sent entry by entry if one %s", (_, options) => {
    expect(
      wholeBatchCall(createBatch([buildEntry({ run: "run-other" as RunId }), buildEntry({ run: runB, ...options })])),
    ).toBeNull();
  });
});
