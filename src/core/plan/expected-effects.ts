import type { FieldReader } from "../json/field-reader.ts";
import { isDeclaredPointer, isStatePointer } from "../state/state-access-order.ts";
import type { Tool } from "../tool/tool.ts";
import { type Effect, worseEffect } from "../values/effect.ts";
import { isJsonObject, type Json } from "../values/json.ts";
import { type ExpectedEffect, planLimits } from "./plan.ts";
import { type PlanContext, stateTools } from "./plan-context.ts";

type StateWriter = Pick<Tool, "effect" | "stateWrites">;

/** True if the engine sets the expected values, because the tool declares no change of the state. */
export function setsExpectedEffects({ effect, stateWrites }: StateWriter): boolean {
  return effect !== "writes" && (stateWrites === null || stateWrites.length === 0);
}

/** Returns the effect of a step. One whose expected values the engine sets writes state, whatever its tool does. */
export function effectWith(expected: readonly ExpectedEffect[], effect: Effect, tool: StateWriter | null): Effect {
  return tool !== null && expected.length > 0 && setsExpectedEffects(tool) ? worseEffect(effect, "writes") : effect;
}

/** Reads the values that the state is to have after a step. */
export function readExpectedEffects(
  step: FieldReader,
  tool: StateWriter | null,
  { tools }: Pick<PlanContext, "tools">,
): readonly ExpectedEffect[] {
  const given = step.list("expected_effects");
  if (given.length === 0) return [];
  const problem =
    tools.get(stateTools.state_write) === undefined
      ? "needs an engine that has slices; give them to createEngine"
      : given.length > planLimits.expectedEffects
        ? `has more than ${planLimits.expectedEffects} values; split the step`
        : null;
  if (problem !== null) step.addReason("expected_effects", problem);
  const effects = given.slice(0, planLimits.expectedEffects).flatMap((item) => readExpectedEffect(step, item, tool));
  const places = effects.map(({ state }) => state);
  const repeated = places.find((place, at) =>
    places.some((other, index) => index !== at && `${place}/`.startsWith(`${other}/`)),
  );
  if (repeated !== undefined)
    step.addReason("expected_effects", `${repeated} is named twice, or lies inside another of its places`);
  return effects;
}

function readExpectedEffect(step: FieldReader, given: Json, tool: StateWriter | null): readonly ExpectedEffect[] {
  const { state, value, ...rest } = isJsonObject(given) ? given : {};
  const isEntry = typeof state === "string" && isStatePointer(state) && /^\/[^/]+\/./.test(state);
  if (!isEntry || state.endsWith("/-") || value === undefined || Object.keys(rest).length > 0) {
    const form = "{ state, value }, with a JSON pointer to an entry or inside one, such as /beds/north";
    step.addReason("expected_effects", `has an item that is not ${form}`);
    return [];
  }
  const declared = tool === null || setsExpectedEffects(tool) ? null : tool.stateWrites;
  if (!isDeclaredPointer(declared, state))
    step.addReason("expected_effects", `${state} is not among what its tool writes: ${declared?.join(", ")}`);
  return [{ state, value }];
}
