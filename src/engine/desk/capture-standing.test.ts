import { describe, expect, it } from "vitest";
import type { Instant, RunId, StepId, Tenant } from "../../core/id.ts";
import type { Capture } from "../../core/resource.ts";
import type { Store, StoredEvent } from "../../core/store.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import { standingOf } from "./capture-standing.ts";
import { tagOf } from "./capture-tag.ts";

const tenant = "acme" as Tenant;
const run_id = "run_1" as RunId;
const owner = { tenant, run_id, at: 0 as Instant, position: 1 } as const;
const call = { ...owner, for: "call", step_id: "a" as StepId, attempt: 1 } as const;
const capture = { id: "one", resource: "files", tag: tagOf(call) } as unknown as Capture;

/** A journal of which retention has left only what kind of event each was. */
function erased(...types: readonly string[]): Store {
  const events = types.map(
    (type, index) => ({ position: index + 1, type, v: 1, body: null }) as unknown as StoredEvent,
  );
  return { ...memoryStore(), events: async (_tenant, of, after) => (of === run_id ? events.slice(after) : []) };
}

describe("what the record says of that which was captured", () => {
  it("is nothing where it knows of no such run", async () => {
    expect(await standingOf(memoryStore(), capture)).toBe("unknown");
  });

  it("is that it never was, where nothing tells of it", async () => {
    expect(await standingOf(erased("run.accepted", "step.failed"), capture)).toBe("falls");
  });

  it.each(["step.started", "step.succeeded", "step.restored", "state.restored"])(
    "is nothing where a %s was erased that may have told of it",
    async (type) => {
      expect(await standingOf(erased("run.accepted", type), capture)).toBe("unknown");
    },
  );
});
