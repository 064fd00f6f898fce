import { describe, expect, it } from "vitest";
import { toolGuaranteeText } from "./tool-guarantee-text.ts";

const act = { effect: "acts", verify: null, compensate: null, idempotentForMs: null } as const;
const verify = async () => ({ saw: "unknown" }) as const;
const compensate = async () => null;

describe("the guarantee of a tool", () => {
  it.each([
    [{ ...act, effect: "pure" }, "recomputable"],
    [{ ...act, effect: "reads" }, "recorded: never silently asked again"],
    [{ ...act, effect: "writes" }, "whole or not at all"],
    [act, "at most once; in doubt needs a person"],
    [{ ...act, verify }, "exactly once: key + verify"],
    [{ ...act, verify, idempotentForMs: 5 }, "exactly once: key + verify"],
    [{ ...act, idempotentForMs: 86_400_000 }, "exactly once within 1 d: idempotent"],
    [{ ...act, idempotentForMs: 90_000 }, "exactly once within 90 s: idempotent"],
    [{ ...act, idempotentForMs: 1500 }, "exactly once within 1500 ms: idempotent"],
    [{ ...act, compensate }, "at most once; in doubt needs a person; can be undone"],
  ] as const)("follows from its declaration: %j", (tool, line) => {
    expect(toolGuaranteeText(tool)).toBe(line);
  });
});
