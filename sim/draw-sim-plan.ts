import type { JsonObject } from "../src/core/values/json.ts";
import type { Rng } from "./rng.ts";
import type { SeedConfig } from "./seed-config.ts";
import { drawStateStep } from "./sim-state-tools.ts";
import { SILENT_TOOL, simTools } from "./sim-tools.ts";

/** Draws a plan of any shape and any tools, with few recipients and varying text, so that acts collide. */
export function drawSimPlan(rng: Rng, config: SeedConfig, tenant: string): JsonObject {
  const count = rng.between(1, config.stepsPerPlan);
  const steps: JsonObject[] = [];
  for (let index = 0; index < count; index += 1) steps.push(drawStep(rng, config, tenant, steps));
  return { steps };
}

function drawStep(rng: Rng, config: SeedConfig, tenant: string, earlier: readonly JsonObject[]): JsonObject {
  const step_id = `s${earlier.length}`;
  const needs = earlier.filter(() => rng.chance(0.3)).map((step) => step.step_id as string);
  const common = { step_id, ...(needs.length > 0 && { depends_on: needs }), ...drawFailureHandling(rng) };
  if (config.usesState && rng.chance(0.4)) return { ...common, ...drawStateStep(rng, tenant) };
  if (rng.chance(0.06)) return { ...common, kind: "wait", name: "wait", payload: { ms: rng.between(1, 20_000) } };
  if (rng.chance(0.05)) return { ...common, kind: "run", payload: { plan: drawSimPlan(rng, config, tenant) } };
  const answering = earlier.filter(({ kind, name }) => kind === undefined && name !== SILENT_TOOL);
  if (rng.chance(0.05) && answering.length > 0) {
    const claim = {
      step: rng.pick(answering).step_id as string,
      path: "/n",
      operator: rng.pick(["eq", "gt"]),
      value: 1,
    };
    return { ...common, kind: "assertion", name: "assertion", payload: claim };
  }
  return { ...common, ...drawCall(rng, config, tenant, answering) };
}

function drawFailureHandling(rng: Rng): JsonObject {
  return {
    ...(rng.chance(0.5) && { on_failure: rng.pick(["abort", "skip", "retry"]) }),
    ...(rng.chance(0.5) && { on_rejected: rng.pick(["stop", "continue"]) }),
  };
}

function drawCall(rng: Rng, config: SeedConfig, tenant: string, answering: readonly JsonObject[]): JsonObject {
  const acts = rng.chance(0.7);
  const kinds = simTools.filter(
    ({ name, effect }) => (effect === "acts") === acts && (!acts || config.acts.includes(name)),
  );
  const { name, effect, identity } = rng.pick(kinds);
  const payload = { tenant, to: `r${rng.below(config.recipients)}`, text: `in words ${rng.below(3)}` };
  const bound = answering.length > 0 && rng.chance(0.3) ? rng.pick(answering) : null;
  const path = rng.chance(0.9) ? "/id" : "/nothing";
  return {
    name,
    payload,
    ...(bound !== null && {
      bindings: { "/text": { step: bound.step_id as string, path, as: rng.pick(["value", "sha256"]) } },
    }),
    ...(rng.chance(0.15) && { gate: "human_confirm" }),
    ...(rng.chance(0.2) && { retries: rng.below(4) }),
    ...(rng.chance(0.15) && { timeout_ms: rng.pick([500, 5000, 60_000]) }),
    ...(effect === "acts" && identity === null && rng.chance(0.3) && { idempotency_template: "once for {to}" }),
    ...(effect === "acts" && rng.chance(0.1) && answering.length > 0 && drawPrecondition(rng, answering)),
  };
}

function drawPrecondition(rng: Rng, answering: readonly JsonObject[]): JsonObject {
  const step = rng.pick(answering).step_id as string;
  return { preconditions: [{ step, path: "/n", operator: rng.pick(["eq", "exists", "lt"]), value: 1 }] };
}
