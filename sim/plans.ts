import type { JsonObject } from "../src/core/json/json.ts";
import { cast, MUTE } from "./cast.ts";
import { drawDeskStep } from "./desk.ts";
import type { Rng } from "./rng.ts";
import type { Swarm } from "./swarm.ts";

/** A plan as a planner would write it: any shape, any tool, the same few recipients in ever other words. */
export function drawPlan(rng: Rng, swarm: Swarm, tenant: string): JsonObject {
  const count = rng.between(1, swarm.stepsPerPlan);
  const steps: JsonObject[] = [];
  for (let index = 0; index < count; index += 1) steps.push(drawStep(rng, swarm, tenant, steps));
  return { steps };
}

function drawStep(rng: Rng, swarm: Swarm, tenant: string, earlier: readonly JsonObject[]): JsonObject {
  const step_id = `s${earlier.length}`;
  const needs = earlier.filter(() => rng.chance(0.3)).map((step) => step.step_id as string);
  const common = { step_id, ...(needs.length > 0 && { depends_on: needs }), ...drawConsequences(rng) };
  if (swarm.desk && rng.chance(0.4)) return { ...common, ...drawDeskStep(rng, tenant) };
  if (rng.chance(0.06)) return { ...common, kind: "wait", name: "wait", payload: { ms: rng.between(1, 20_000) } };
  if (rng.chance(0.05)) return { ...common, kind: "run", payload: { plan: drawPlan(rng, swarm, tenant) } };
  const answering = earlier.filter(({ kind, name }) => kind === undefined && name !== MUTE);
  if (rng.chance(0.05) && answering.length > 0) {
    const claim = {
      step: rng.pick(answering).step_id as string,
      path: "/n",
      operator: rng.pick(["eq", "gt"]),
      value: 1,
    };
    return { ...common, kind: "assertion", name: "assertion", payload: claim };
  }
  return { ...common, ...drawCall(rng, swarm, tenant, answering) };
}

function drawConsequences(rng: Rng): JsonObject {
  return {
    ...(rng.chance(0.5) && { on_failure: rng.pick(["abort", "skip", "retry"]) }),
    ...(rng.chance(0.5) && { on_rejected: rng.pick(["stop", "continue"]) }),
  };
}

function drawCall(rng: Rng, swarm: Swarm, tenant: string, answering: readonly JsonObject[]): JsonObject {
  const acts = rng.chance(0.7);
  const kinds = cast.filter(({ name, effect }) => (effect === "acts") === acts && (!acts || swarm.acts.includes(name)));
  const { name, effect, identity } = rng.pick(kinds);
  const payload = { tenant, to: `r${rng.below(swarm.recipients)}`, text: `in words ${rng.below(3)}` };
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
    ...(effect === "acts" && rng.chance(0.1) && answering.length > 0 && precondition(rng, answering)),
  };
}

function precondition(rng: Rng, answering: readonly JsonObject[]): JsonObject {
  const step = rng.pick(answering).step_id as string;
  return { preconditions: [{ step, path: "/n", operator: rng.pick(["eq", "exists", "lt"]), value: 1 }] };
}
