import { describe, expect, it } from "vitest";
import type { Capture } from "../../core/ports/resource.ts";
import type { Store, StoredEvent } from "../../core/store/store.ts";
import type { Instant, RunId, StepId, Tenant } from "../../core/values/ids.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import { makeCaptureTag } from "./capture-owner.ts";
import { readCaptureStatus } from "./read-capture-status.ts";

const tenant = "acme" as Tenant;
const run_id = "run_1" as RunId;
const owner = { tenant, run_id, at: 0 as Instant, position: 1 } as const;
const call = { ...owner, for: "call", step_id: "a" as StepId, attempt: 1 } as const;
const capture = { id: "one", resource: "files", tag: makeCaptureTag(call) } as unknown as Capture;

/** Returns a store with a journal whose event bodies retention has erased: only their types are left. */
function storeWithErased(...types: readonly string[]): Store {
  const events = types.map(
    (type, index) => ({ position: index + 1, type, v: 1, body: null }) as unknown as StoredEvent,
  );
  return { ...memoryStore(), events: async (_tenant, of, after) => (of === run_id ? events.slice(after) : []) };
}

describe("the status of a capture", () => {
  it("is unknown if the store has no such run", async () => {
    expect(await readCaptureStatus(memoryStore(), capture)).toBe("unknown");
  });

  it("is discarded if no event of the run records it", async () => {
    expect(await readCaptureStatus(storeWithErased("run.accepted", "step.failed"), capture)).toBe("discarded");
  });

  it.each(["step.started", "step.succeeded", "step.restored", "state.restored"])(
    "is unknown if a %s was erased, which may have recorded it",
    async (type) => {
      expect(await readCaptureStatus(storeWithErased("run.accepted", type), capture)).toBe("unknown");
    },
  );
});
