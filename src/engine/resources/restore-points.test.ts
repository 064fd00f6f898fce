import { describe, expect, it } from "vitest";
import type { Capture, Resource } from "../../core/ports/resource.ts";
import { FaultError } from "../../core/values/fault.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import { makeCaptureTag } from "./capture-owner.ts";
import type { ResourceRestorePorts } from "./resource-restore-ports.ts";
import { RestorePoints, type RestoreTarget } from "./restore-points.ts";

const run = { tenant: "acme", id: "run_1", origin: "run_1", project: null, steps: [], index: new Map() };
const target = {
  run,
  step: { spec: { step_id: "a" }, checkpoint: { before: 0, after: 0, position: 3, captures: [] } },
  side: "before",
} as unknown as RestoreTarget;
const ports = { store: memoryStore() } as unknown as ResourceRestorePorts;
const files = (captures: readonly Capture[], isComplete: boolean) =>
  ({ name: "files", kept: async () => ({ captures, isComplete }) }) as unknown as Resource;
const later = {
  id: "one",
  resource: "files",
  tag: makeCaptureTag({ for: "call", ...run, run_id: run.id, at: 5, position: 9, step_id: "b", attempt: 1 } as never),
} as unknown as Capture;

async function findPoint(captures: readonly Capture[], isComplete: boolean): Promise<unknown> {
  try {
    return await new RestorePoints(ports, target).find(files(captures, isComplete));
  } catch (error) {
    return error instanceof FaultError ? error.fault.code : error;
  }
}

describe("the restore point of a call", () => {
  it("is the current state if all captures are kept and none is later", async () => {
    expect(await findPoint([], true)).toBeNull();
  });

  it("is not found if captures were dropped, which may be later than the call", async () => {
    expect(await findPoint([], false)).toBe("CHECKPOINT_NOT_FOUND");
    expect(await findPoint([later], false)).toBe("CHECKPOINT_NOT_FOUND");
  });

  it("is before the first later capture", async () => {
    expect(await findPoint([later], true)).toEqual({ capture: later, side: "before" });
  });
});
