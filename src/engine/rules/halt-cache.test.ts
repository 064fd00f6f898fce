import { describe, expect, it } from "vitest";
import type { Run } from "../../core/run/run.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import { StoreHaltCache } from "./halt-cache.ts";

const place = (project: string) => ({ tenant: "acme" as Tenant, project });
const runIn = (project: string) => ({ ...place(project), id: "run_1" as RunId, parent: null }) as unknown as Run;

describe("the halt cache", () => {
  const now = 0 as Instant;
  const makeCache = () => new StoreHaltCache({ store: memoryStore(), clock: { now: () => now } });

  it("returns checks that no row meets for a project whose rows were never read", () => {
    expect(
      makeCache()
        .of(runIn("never read"))
        .checks.map(({ was }) => was),
    ).toEqual([-1]);
  });

  it("drops the least recently read entry", async () => {
    const halts = makeCache();
    for (let n = 0; n <= 1000; n += 1) await halts.refresh(place(`p${n}`));
    await halts.refresh(place("p1"));
    await halts.refresh(place("p1001"));
    const known = (project: string) => halts.of(runIn(project)).checks.every(({ was }) => was === null);
    expect(["p0", "p1", "p2", "p1000", "p1001"].map(known)).toEqual([false, true, false, true, true]);
  });
});
