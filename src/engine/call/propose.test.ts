import { describe, expect, it } from "vitest";
import type { Step } from "../../core/run/run.ts";
import type { CallContext } from "./call-context.ts";
import { propose } from "./propose.ts";

const plain = {
  spec: { kind: "operator", name: "look", effect: "pure", cache_policy: "never", gate: "none" },
} as unknown as Step;

describe("propose", () => {
  it("rejects if the policies are stale and the store cannot be read", async () => {
    const context = {
      ports: {
        toolbox: { facts: () => ({ effect: "pure" }) },
        policies: { refreshIfStale: () => Promise.reject(new Error("the store is down")) },
      },
      mailbox: { run: { tenant: "acme" } },
    } as unknown as CallContext;
    await expect(propose(context, plain)).rejects.toThrow("the store is down");
  });
});
