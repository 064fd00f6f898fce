import { describe, expect, it } from "vitest";
import { FaultError } from "../../core/fault.ts";
import type { Capture, Resource } from "../../core/resource.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import type { Ports } from "../ports.ts";
import { tagOf } from "./capture-tag.ts";
import { Moments, type Target } from "./moments.ts";

const run = { tenant: "acme", id: "run_1", origin: "run_1", project: null, steps: [], index: new Map() };
const target = {
  run,
  step: { spec: { step_id: "a" }, checkpoint: { before: 0, after: 0, position: 3, captures: [] } },
  side: "before",
} as unknown as Target;
const ports = { store: memoryStore() } as unknown as Ports;
const files = (captures: readonly Capture[], isComplete: boolean) =>
  ({ name: "files", kept: async () => ({ captures, isComplete }) }) as unknown as Resource;
const later = {
  id: "one",
  resource: "files",
  tag: tagOf({ for: "call", ...run, run_id: run.id, at: 5, position: 9, step_id: "b", attempt: 1 } as never),
} as unknown as Capture;

async function found(captures: readonly Capture[], isComplete: boolean): Promise<unknown> {
  try {
    return await new Moments(ports, target).in(files(captures, isComplete));
  } catch (error) {
    return error instanceof FaultError ? error.fault.code : error;
  }
}

describe("where a call is in what is kept of files", () => {
  it("is now, if all that ever changed them is kept and nothing came after it", async () => {
    expect(await found([], true)).toBeNull();
  });

  it("is not known, if what is kept of them was dropped: what came after it may be among that", async () => {
    expect(await found([], false)).toBe("CHECKPOINT_NOT_FOUND");
    expect(await found([later], false)).toBe("CHECKPOINT_NOT_FOUND");
  });

  it("is before the first that came after it", async () => {
    expect(await found([later], true)).toEqual({ capture: later, side: "before" });
  });
});
