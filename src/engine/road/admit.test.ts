import { describe, expect, it, onTestFinished } from "vitest";
import type { Step } from "../../core/run.ts";
import { admitAtOnce } from "./admit.ts";
import type { Way } from "./way.ts";

const plain = {
  spec: { kind: "operator", name: "look", effect: "pure", cache_policy: "never", gate: "none" },
} as unknown as Step;

describe("a step that something has to be read for before it is admitted", () => {
  it("leaves nobody's failed reading behind: whoever admits it otherwise reads, too, and hears of it", async () => {
    const unheard: unknown[] = [];
    const hear = (why: unknown) => unheard.push(why);
    process.on("unhandledRejection", hear);
    onTestFinished(() => void process.off("unhandledRejection", hear));
    const way = {
      ports: {
        toolbox: { facts: () => ({ effect: "pure" }) },
        policies: { reading: () => Promise.reject(new Error("the store is down")) },
      },
      mailbox: { isIdle: true, run: { tenant: "acme" } },
    } as unknown as Way;
    expect(admitAtOnce(way, plain)).toBeNull();
    await new Promise(setImmediate);
    expect(unheard).toEqual([]);
  });
});
