import { describe, expect, it } from "vitest";
import type { Store, StoredEvent } from "../../core/store/store.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { readEventPages } from "./load-run.ts";

/** A store with this number of events that counts the events it returns. */
function storeOf(events: number): Pick<Store, "events"> & { asked: number } {
  const store = {
    asked: 0,
    events: async (_tenant: Tenant, _run: RunId, after: number, most = Number.POSITIVE_INFINITY) => {
      store.asked += 1;
      const length = Math.min(most, events - after);
      return Array.from({ length }, (_, at) => ({ position: after + at + 1 }) as StoredEvent);
    },
  };
  return store;
}

describe("reading a journal page by page", () => {
  it.each([0, 1, 499, 500, 501, 1000, 1234])(
    "gives each of %i events once, in order, and no empty page",
    async (count) => {
      const store = storeOf(count);
      const read: number[] = [];
      for await (const page of readEventPages(store as unknown as Store, "acme" as Tenant, "run_1" as RunId)) {
        expect(page.length).toBeGreaterThan(0);
        for (const { position } of page) read.push(position);
      }
      expect(read).toEqual(Array.from({ length: count }, (_, at) => at + 1));
    },
  );

  it("asks a store for a short run once", async () => {
    const store = storeOf(20);
    for await (const page of readEventPages(store as unknown as Store, "acme" as Tenant, "run_1" as RunId)) {
      expect(page).toHaveLength(20);
    }
    expect(store.asked).toBe(1);
  });
});
