import type { Tool } from "./tool.ts";

/** Describes the guarantee that follows from the declaration of a tool. */
export function toolGuaranteeText(tool: Pick<Tool, "effect" | "verify" | "compensate" | "idempotentForMs">): string {
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
  if (idempotentForMs !== null) return `exactly once within ${durationText(idempotentForMs)}: idempotent`;
  return "at most once; in doubt needs a person";
}

const durationUnits = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
] as const;

/** Formats a duration in the largest unit that divides it. */
function durationText(ms: number): string {
  const unit = durationUnits.find(([length]) => ms >= length && ms % length === 0);
  return unit === undefined ? `${ms} ms` : `${ms / unit[0]} ${unit[1]}`;
}
