import type { ToolFacts } from "../../core/call/proposal.ts";
import type { CommandOf } from "../../core/decide/command.ts";
import type { HandlerResult } from "../../core/decide/handler-result.ts";
import type { Run, Step } from "../../core/run/run.ts";
import { toolDefaults } from "../../core/tool/tool-defaults.ts";
import { assert } from "../../core/values/assert.ts";
import type { CallPorts } from "./call-ports.ts";
import { expectedCost, withCallLimits } from "./cost-estimate.ts";
import { makeProposal } from "./make-proposal.ts";

/** Makes the command that ends work which a host did itself. Everything about the attempt comes from the record. */
export function hostEndCommand(
  ports: CallPorts,
  run: Run,
  step: Step,
  ending: HandlerResult,
  reported_by?: string,
): CommandOf<"end"> {
  const { spec, act, external, standing } = step;
  assert(external !== null, "a host did the work of the step");
  const now = ports.clock.now();
  const proposal = withCallLimits(ports, run, step, makeProposal(ports, run, step, { call: true }), now);
  const started_at = act?.started_at ?? (standing.state === "running" ? standing.started_at : now);
  const generation = act?.generation ?? 0;
  const { step_id } = spec;
  return {
    type: "end",
    now,
    grant: { step_id, attempt: external.attempt, started_at, generation, recorded: true, proposal, basis: null },
    ending,
    heartbeat: null,
    tool: ports.toolbox.facts(spec.name) ?? factsWithoutTool(step),
    cost: ending.how === "value" ? expectedCost(proposal.estimate) : null,
    reuse: null, // Only its host knows what the output depends on.
    errands: [],
    notices: [],
    state: null,
    dice: 0,
    in_flight: [],
    confirmed: false,
    ...(reported_by !== undefined && { reported_by }),
  };
}

/** A worker without the tool ends the work all the same. Only a worker with the tool can verify an act in doubt. */
function factsWithoutTool({ spec, pin }: Step): ToolFacts {
  return {
    name: spec.name,
    version: pin?.version ?? "1",
    effect: spec.effect,
    tags: spec.policy_tags,
    risk: "high",
    roles: [],
    confirmation: false,
    timeoutMs: toolDefaults.timeoutMs,
    tries: null,
    retry: "named",
    asks: null,
    settleAfterMs: toolDefaults.settleAfter,
    confirm: "none",
    idempotentForMs: null,
    errorsMean: "unknown",
    onDuplicate: "hold",
    safeIfAbsent: false,
    verifies: false,
    compensates: false,
  };
}
