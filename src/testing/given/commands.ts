import type { Principal } from "../../core/approval/principal.ts";
import type { Policy } from "../../core/call/guard.ts";
import type { Proposal, ToolFacts } from "../../core/call/proposal.ts";
import type { Command, CommandOf, RecoveryFinding, Resolution } from "../../core/decide/command.ts";
import type { HandlerResult } from "../../core/decide/handler-result.ts";
import type { Call, StepsInFlight } from "../../core/event/event.ts";
import type { AgentCause } from "../../core/event/session.ts";
import type { Plan, PlanStep } from "../../core/plan/plan.ts";
import { findStep, type Step } from "../../core/run/run.ts";
import { type HaltFact, notHalted } from "../../core/settings/halt.ts";
import type { Sighting } from "../../core/tool/tool.ts";
import { worseEffect } from "../../core/values/effect.ts";
import { type Fault, type FaultCode, fault } from "../../core/values/fault.ts";
import type { GateId, Instant, StepId, WorkerId } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import { addUp, ana, fakeDigest, fakeKey, hireRun, robin } from "./fixtures.ts";
import { type CommandFrom, type GivenAction, type GivenRun, underPolicy } from "./given.ts";

/** The commands of a test. Each is decided at the current time of the run, with the facts that the run knows. */

const hour = 60 * 60 * 1000;
const stepIds = (...steps: readonly string[]) => steps as readonly StepId[];

export function accepts(plan: Plan | null, overrides: Partial<CommandOf<"accept">> = {}): CommandFrom {
  return ({ now }) => ({
    type: "accept",
    now,
    run_id: hireRun,
    origin: hireRun,
    principal: robin,
    mode: "auto_exec",
    plan,
    context: {},
    request: null,
    tools: {},
    deadline_at: null,
    correlation_id: "case 1",
    trace_id: "trace 1",
    ...overrides,
  });
}

export function proposes(step: PlanStep, cause: Omit<AgentCause, "by"> = {}): CommandFrom {
  return ({ now }) => ({
    type: "propose",
    now,
    calls: [{ step, pin: null, cause: { by: "agent", ...cause }, refused: null }],
  });
}

export const closes: CommandFrom = ({ now }) => ({ type: "close", now, principal: robin, as: "completed", reason: "" });

export interface StartOptions extends Partial<Omit<Proposal, "tool">> {
  readonly policy?: Policy | null;
  readonly halts?: HaltFact;
  readonly loaded?: number;
  readonly unruled?: CommandOf<"start">["unruled"];
  readonly tool?: ToolFacts | null;
  readonly inFlight?: readonly string[];
}

export function starts(
  id: string,
  { inFlight = [], policy = null, unruled = [], halts = notHalted, loaded = 0, ...overrides }: StartOptions = {},
): CommandFrom {
  return (givenRun) => {
    const proposal = { ...proposalOf(givenRun, id, overrides.tool), ...overrides } as Proposal;
    const ledger =
      overrides.ledger === undefined && proposal.call?.key != null ? givenRun.ledger(proposal.call.key) : null;
    const withLedger = overrides.ledger === undefined ? { ...proposal, ledger } : proposal;
    const facts = {
      proposal: withLedger,
      policy: policy?.version ?? null,
      unruled,
      halts,
      loaded,
      in_flight: stepIds(...inFlight),
    };
    return underPolicy({ type: "start", now: givenRun.now, step_id: id as StepId, ...facts }, policy);
  };
}

function proposalOf(givenRun: GivenRun, id: string, override: ToolFacts | null | undefined): Proposal {
  const { spec, cause, call: fixed } = givenRun.step(id);
  const tool = override === undefined ? givenRun.tool(id) : override;
  const input = cause?.by === "undo" ? undoInput(givenRun, cause.of) : spec.payload;
  const acts = worseEffect(spec.effect, tool?.effect ?? "pure") === "acts";
  const call: Call | null =
    fixed ?? (acts || spec.gate !== "none" ? callOf(input, acts ? actKey(givenRun, id) : null, spec) : null);
  return {
    input: call?.input ?? input,
    call,
    derived: false,
    flaw: null,
    parked: null,
    away: null,
    tool,
    trusted: false,
    record: null,
    ledger: null,
    reusable: null,
    signal: null,
    estimate: null,
    limits: [],
    policy_state: null,
    captures: [],
    preview: null,
    pins: null,
    gate_id: `gate_${givenRun.events.length}` as GateId,
    gate_ms: 24 * hour,
    boot: "boot 1",
    worker: "wrk_1" as WorkerId,
  };
}

function callOf(input: Json, key: Call["key"], { idempotency_template }: PlanStep): Call {
  const keyed_by = key === null ? null : idempotency_template === null ? "input" : "template";
  return { input, digest: fakeDigest(input), key, keyed_by };
}

/** The key contains the name of the step, so that a test can name it. */
function actKey(givenRun: GivenRun, id: string): Call["key"] {
  const { cause } = givenRun.step(id);
  if (cause?.by !== "undo") return fakeKey(id);
  return fakeKey(`undo ${cause.of} ${givenRun.step(cause.of).act?.generation}`);
}

function undoInput(givenRun: GivenRun, of: StepId): Json {
  const { call, act } = givenRun.step(of);
  return { input: call?.input ?? null, output: act?.output ?? null, key: call?.key ?? null };
}

export type EndOptions = Partial<Omit<CommandOf<"end">, "type" | "now" | "in_flight">> & {
  readonly inFlight?: readonly string[];
};

export function ends(id: string, ending: HandlerResult, { inFlight = [], ...overrides }: EndOptions = {}): CommandFrom {
  return (givenRun) => {
    const grant = overrides.grant ?? givenRun.grant(id);
    return {
      type: "end",
      now: givenRun.now,
      grant,
      ending,
      heartbeat: null,
      state: null,
      tool: grant.proposal.tool ?? addUp,
      cost: null,
      reuse: null,
      errands: [],
      notices: [],
      dice: 0.5,
      in_flight: stepIds(...inFlight),
      confirmed: false,
      ...overrides,
    };
  };
}

/** The handler returned. With a flaw, the output is invalid. */
export function answers(
  id: string,
  output: Json = { id: `${id} 1` },
  overrides: EndOptions & { flaw?: Fault } = {},
): CommandFrom {
  const { flaw = null, ...rest } = overrides;
  return ends(id, { how: "value", output, flaw }, rest);
}

export const invalidOutput: Fault = fault("SCHEMA_VALIDATION_FAILED", "the output does not match the output schema");

/** The handler threw this fault and did not say whether the act happened. */
export function fails(id: string, code: FaultCode = "TOOL_FAILED", overrides: EndOptions = {}): CommandFrom {
  return ends(id, { how: "error", fault: fault(code, `${id} failed`) }, overrides);
}

/** The handler threw this fault and declared that nothing happened. */
export function saysNotDone(id: string, code: FaultCode = "TOOL_FAILED", overrides: EndOptions = {}): CommandFrom {
  return ends(id, { how: "not_done", fault: fault(code, `${id} did nothing`) }, overrides);
}

/** The handler did not answer in time, or was stopped. */
export function timesOut(id: string, code: FaultCode = "TOOL_TIMEOUT", overrides: EndOptions = {}): CommandFrom {
  return ends(id, { how: "unheard", fault: fault(code, `${id} did not answer`) }, overrides);
}

/** The step starts and its handler returns. */
export function does(id: string, output: Json = { id: `${id} 1` }, overrides: StartOptions = {}): GivenAction {
  return [starts(id, overrides), answers(id, output)];
}

export function recovers(...found: readonly (Partial<RecoveryFinding> & { readonly id: string })[]): CommandFrom {
  return (givenRun) => ({
    type: "recover",
    taken: null,
    rules: null,
    now: givenRun.now,
    found: found.map(({ id, mark = "unknown", alive = false, tool = givenRun.tool(id) }) => ({
      step_id: id as StepId,
      mark,
      alive,
      tool,
    })),
  });
}

export const sightingHappened = (output: Json): Sighting => ({ saw: "happened", output });
export const sightingAbsent: Sighting = { saw: "absent" };
export const sightingUnclear: Sighting = { saw: "unknown", why: "the mail server is silent" };

export function settles(
  id: string,
  sighting: Sighting | null,
  overrides: Partial<CommandOf<"settle">> = {},
): CommandFrom {
  return ({ now, run }) => ({
    type: "settle",
    now,
    step_id: id as StepId,
    sighting,
    sender: null,
    quiet_in: quietIn(findStep(run, id as StepId), now),
    flaw: null,
    in_flight: [],
    ...overrides,
  });
}

function quietIn(step: Step | undefined, now: Instant): number {
  return step?.standing.state === "in_doubt" ? Math.max(0, step.standing.doubt.exits.quiet_at - now) : 0;
}

export function resolves(
  id: string,
  verdict: Resolution,
  principal: Principal = ana,
  { attempt = null, in_flight = [] }: Partial<Pick<CommandOf<"resolve">, "attempt" | "in_flight">> = {},
): CommandFrom {
  const fields = { principal, verdict, attempt, reason: "I looked", in_flight };
  return ({ now }) => ({ type: "resolve", now, step_id: id as StepId, ...fields });
}

export const resolvedHappened = (output: Json, flaw: Fault | null = null): Resolution => ({
  as: "happened",
  output,
  flaw,
});

/** A person requests the undo of an act. */
export function undoes(id: string, tool?: ToolFacts | null, principal: Principal = ana): CommandFrom {
  return (givenRun) =>
    resolves(id, { as: "undo", tool: tool === undefined ? givenRun.tool(id) : tool }, principal)(givenRun);
}

export function approves(
  id: string,
  principal: Principal = ana,
  overrides: Partial<CommandOf<"approve">> = {},
): CommandFrom {
  return (givenRun) => ({
    type: "approve",
    now: givenRun.now,
    gate_id: givenRun.gate(id).gate_id,
    principal,
    reason: "looks right",
    use_within_ms: 24 * hour,
    in_flight: [],
    ...overrides,
  });
}

export function rejects(
  id: string,
  principal: Principal = ana,
  overrides: Partial<CommandOf<"reject">> = {},
): CommandFrom {
  const fields = { principal, reason: "not now", in_flight: [], ...overrides };
  return (givenRun) => ({ type: "reject", now: givenRun.now, gate_id: givenRun.gate(id).gate_id, ...fields });
}

export function expires(id: string, in_flight: StepsInFlight = []): CommandFrom {
  return (givenRun) => ({ type: "expire", now: givenRun.now, gate_id: givenRun.gate(id).gate_id, in_flight });
}

/** A person let another run repeat the act: the ledger row now belongs to that run. */
export function isSuperseded(id: string, by: CommandOf<"supersede">["by"]): CommandFrom {
  return ({ now }) => ({ type: "supersede", now, step_id: id as StepId, by });
}

export const cancels: CommandFrom = ({ now }): Command => ({
  type: "cancel",
  now,
  principal: ana,
  reason: "never mind",
});

/** A halt was lifted. */
export const wakes: CommandFrom = ({ now }): Command => ({ type: "wake", now });

export const resumes: CommandFrom = ({ now }): Command => ({
  type: "resume",
  verb: "resume:parked",
  now,
  principal: ana,
  reason: "repaired",
});

export function delivers(notice_id: string): CommandFrom {
  return ({ now }) => ({ type: "deliver", now, notice_id });
}
