import { describe, expect, it } from "vitest";
import { EVENT_VERSION } from "../../core/event/event.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import { GENESIS_HASH, JournalCodec } from "./journal-codec.ts";

const journal = new JournalCodec("acme" as Tenant, "run_1" as RunId);
const sealed = (reason: string) => {
  const { event, blob } = journal.seal({ type: "run.resumed", at: 7 as Instant, by: "ana", reason }, 1, GENESIS_HASH);
  return { stored: { ...event, body_hash: null }, blob };
};

describe("an event that is read back", () => {
  it("is the one that was written, with its type and moment", () => {
    const { stored } = sealed("why");
    expect(stored.v).toBe(EVENT_VERSION);
    expect(journal.openInline(stored)).toEqual({ type: "run.resumed", at: 7, by: "ana", reason: "why" });
  });

  it.each([
    ["small", "why"],
    ["large", "x".repeat(100_000)],
  ])("is refused if it is newer than its reader: %s", async (_, reason) => {
    const { stored, blob } = sealed(reason);
    const store = memoryStore();
    if (blob !== null) await store.putBlob("acme" as Tenant, blob.hash, blob.bytes);
    const newer = { ...stored, v: EVENT_VERSION + 1 };
    await expect(journal.open(newer, store)).rejects.toMatchObject({ fault: { code: "STORE_NEWER" } });
    expect(journal.isIntact(stored, GENESIS_HASH)).toBe(true);
    expect(journal.isIntact(newer, GENESIS_HASH)).toBe(false);
  });
});
