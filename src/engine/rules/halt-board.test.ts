import { describe, expect, it } from "vitest";
import type { Instant, RunId, Tenant } from "../../core/id.ts";
import type { Run } from "../../core/run.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import { StoredHalts } from "./halt-board.ts";

const place = (project: string) => ({ tenant: "acme" as Tenant, project });
const runIn = (project: string) => ({ ...place(project), id: "run_1" as RunId, parent: null }) as unknown as Run;

describe("a board of halts", () => {
  const now = 0 as Instant;
  const board = () => new StoredHalts({ store: memoryStore(), clock: { now: () => now } });

  it("lets nothing begin where nobody has looked: no row has the version that it asks for", () => {
    expect(
      board()
        .of(runIn("never seen"))
        .checks.map(({ was }) => was),
    ).toEqual([-1]);
  });

  it("forgets who was looked at longest ago, and nobody who was looked at just now", async () => {
    const halts = board();
    for (let n = 0; n <= 1000; n += 1) await halts.readAnew(place(`p${n}`));
    await halts.readAnew(place("p1"));
    await halts.readAnew(place("p1001"));
    const known = (project: string) => halts.of(runIn(project)).checks.every(({ was }) => was === null);
    expect(["p0", "p1", "p2", "p1000", "p1001"].map(known)).toEqual([false, true, false, true, true]);
  });
});
