import { describe, expect, it } from "vitest";
import type { Patch } from "../../core/state/patch.ts";
import { applyPatch, EMPTY_STATE } from "../../core/state/project-state.ts";
import type { RecordedVersion, SnapshotPointer } from "../../core/state/version-bundle.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import { writeSnapshot } from "./snapshot-writer.ts";

const tenant = "acme" as Tenant;

function recordedVersion(version: number, patch: Patch): RecordedVersion {
  const point = { run_id: "run_1" as RunId, position: version, commit: `cmt_${version}` };
  return { project: "project:p", version, at: version as Instant, point, patch };
}

describe("snapshot of many versions", () => {
  it("writes at most three times the bytes of the changes, for a state of any size", async () => {
    const real = memoryStore();
    let written = 0;
    const store = {
      ...real,
      putBlob: async (...[, , bytes]: Parameters<typeof real.putBlob>) => {
        written += bytes.length;
      },
    };
    const all = Object.fromEntries(Array.from({ length: 4000 }, (_, n) => [`key ${n}`, { n, text: "a bed of beans" }]));
    let state = applyPatch(EMPTY_STATE, [{ op: "init", path: "/beds", value: all, v: "1" }]);
    let changed = 0;
    let wholes = 0;
    let last: SnapshotPointer | null = null;
    for (let version = 1; version <= 10_000; version += 100) {
      const versions: RecordedVersion[] = [];
      for (let n = version; n < version + 100; n += 1) {
        const one = recordedVersion(n, [
          { op: "set", path: `/beds/key ${(n * 7919) % 4000}`, value: { n, text: "a row of peas" } },
        ]);
        state = applyPatch(state, one.patch);
        changed += JSON.stringify(one).length;
        versions.push(one);
      }
      last = await writeSnapshot(store, tenant, { base: null, versions, state, last });
      if (last.whole !== undefined) wholes += 1;
    }
    const first = JSON.stringify(all).length;
    expect(wholes).toBeGreaterThan(2);
    expect(written).toBeLessThan(3 * (changed + first));
  });
});
