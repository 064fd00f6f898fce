import type { Tool } from "./tool.ts";

/** What may be relied on, from what the tool declares: no more than its declaration carries. */
export function guaranteeOf(tool: Pick<Tool, "effect" | "verify" | "compensate" | "idempotentForMs">): string {
  switch (tool.effect) {
    case "pure":
      return "recomputable";
    case "reads":
      return "recorded: never silently asked again";
    case "writes":
      return "whole or not at all";
    default:
      return `${actGuarantee(tool)}${tool.compensate === null ? "" : "; can be undone"}`;
  }
}

function actGuarantee({ verify, idempotentForMs }: Pick<Tool, "verify" | "idempotentForMs">): string {
  if (verify !== null) return "exactly once: key + verify";
  if (idempotentForMs !== null) return `exactly once within ${duration(idempotentForMs)}: idempotent`;
  return "at most once; in doubt needs a person";
}

const units = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
] as const;

/** The largest unit that says it exactly. */
function duration(ms: number): string {
  const unit = units.find(([length]) => ms >= length && ms % length === 0);
  return unit === undefined ? `${ms} ms` : `${ms / unit[0]} ${unit[1]}`;
}
