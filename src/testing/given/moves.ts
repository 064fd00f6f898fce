import type { Ask, Command, Ending, Found, Resolution } from "../../core/command.ts";
import { worst } from "../../core/effect.ts";
import type { Call, InFlight } from "../../core/event.ts";
import { type Fault, type FaultCode, fault } from "../../core/fault.ts";
import type { Policy } from "../../core/guard.ts";
import { type HaltFact, unhalted } from "../../core/halt.ts";
import type { GateId, StepId } from "../../core/id.ts";
import type { Json } from "../../core/json/json.ts";
import type { Plan, PlanStep } from "../../core/plan/plan.ts";
import type { Principal } from "../../core/principal.ts";
import type { Proposal, ToolFacts } from "../../core/proposal.ts";
import type { Sighting } from "../../core/tool.ts";
import type { Move, Telling, Told } from "../given.ts";
import { addUp, ana, digestOf, hire, keyOf, robin } from "./cast.ts";

/** The commands of a story. Each is judged at the story's own time, with the facts that the story knows. */

const hour = 60 * 60 * 1000;
const ids = (...steps: readonly string[]) => steps as readonly StepId[];

export function accepts(plan: Plan | null, wish: Partial<Ask<"accept">> = {}): Telling {
  return ({ now }) => ({
    type: "accept",
    now,
    run_id: hire,
    origin: hire,
    principal: robin,
    mode: "auto_exec",
    plan,
    context: {},
    request: null,
    tools: {},
    deadline_at: null,
    correlation_id: "case 1",
    trace_id: "trace 1",
    ...wish,
  });
}

export function proposes(step: PlanStep): Telling {
  return ({ now }) => ({ type: "propose", now, step, pin: null });
}

export const closes: Telling = ({ now }) => ({ type: "close", now });

export interface StartWish extends Partial<Omit<Proposal, "tool">> {
  readonly policy?: Policy | null;
  readonly halts?: HaltFact;
  readonly unruled?: Ask<"start">["unruled"];
  readonly tool?: ToolFacts | null;
  readonly inFlight?: readonly string[];
}

export function starts(
  id: string,
  { inFlight = [], policy = null, unruled = [], halts = unhalted, ...wish }: StartWish = {},
): Telling {
  return (told) => {
    const proposal = { ...proposalOf(told, id, wish.tool), ...wish } as Proposal;
    const ledger = wish.ledger === undefined && proposal.call?.key != null ? told.ledger(proposal.call.key) : null;
    const known = wish.ledger === undefined ? { ...proposal, ledger } : proposal;
    const asked = { step_id: id as StepId, proposal: known, policy, unruled, halts, in_flight: ids(...inFlight) };
    return { type: "start", now: told.now, ...asked };
  };
}

function proposalOf(told: Told, id: string, wished: ToolFacts | null | undefined): Proposal {
  const { spec, cause, call: fixed } = told.step(id);
  const tool = wished === undefined ? told.tool(id) : wished;
  const input = cause?.by === "undo" ? undoInput(told, cause.of) : spec.payload;
  const acts = worst(spec.effect, tool?.effect ?? "pure") === "acts";
  const call: Call | null =
    fixed ?? (acts || spec.gate !== "none" ? callOf(input, acts ? actKey(told, id) : null, spec) : null);
  return {
    input: call?.input ?? input,
    call,
    derived: false,
    flaw: null,
    parked: null,
    tool,
    trusted: false,
    record: null,
    ledger: null,
    reusable: null,
    signal: null,
    estimate: null,
    tolls: [],
    seen: null,
    captures: [],
    preview: null,
    pins: null,
    gate_id: `gate_${told.past.length}` as GateId,
    gate_ms: 24 * hour,
    boot: "boot 1",
  };
}

function callOf(input: Json, key: Call["key"], { idempotency_template }: PlanStep): Call {
  const keyed_by = key === null ? null : idempotency_template === null ? "input" : "template";
  return { input, digest: digestOf(input), key, keyed_by };
}

/** The key is the step's name, so that a test can speak of it. */
function actKey(told: Told, id: string): Call["key"] {
  const { cause } = told.step(id);
  if (cause?.by !== "undo") return keyOf(id);
  return keyOf(`undo ${cause.of} ${told.step(cause.of).act?.generation}`);
}

function undoInput(told: Told, of: StepId): Json {
  const { call, act } = told.step(of);
  return { input: call?.input ?? null, output: act?.output ?? null, key: call?.key ?? null };
}

export type EndWish = Partial<Omit<Ask<"end">, "type" | "now" | "in_flight">> & {
  readonly inFlight?: readonly string[];
};

export function ends(id: string, ending: Ending, { inFlight = [], ...wish }: EndWish = {}): Telling {
  return (told) => {
    const grant = wish.grant ?? told.grant(id);
    return {
      type: "end",
      now: told.now,
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
      in_flight: ids(...inFlight),
      confirmed: false,
      ...wish,
    };
  };
}

/** Its handler returned; with a flaw, something else than it promised. */
export function answers(id: string, output: Json = { id: `${id} 1` }, wish: EndWish & { flaw?: Fault } = {}): Telling {
  const { flaw = null, ...rest } = wish;
  return ends(id, { how: "value", output, flaw }, rest);
}

export const misshapen: Fault = fault("SCHEMA_VALIDATION_FAILED", "its answer does not fit its output schema");

/** Its handler threw this fault and said nothing about the world. */
export function fails(id: string, code: FaultCode = "TOOL_FAILED", wish: EndWish = {}): Telling {
  return ends(id, { how: "error", fault: fault(code, `${id} failed`) }, wish);
}

/** Its handler threw this fault and gave its word that nothing happened. */
export function saysNotDone(id: string, code: FaultCode = "TOOL_FAILED", wish: EndWish = {}): Telling {
  return ends(id, { how: "not_done", fault: fault(code, `${id} did nothing`) }, wish);
}

/** Its handler was not heard from in time, or was told to stop. */
export function goesUnheard(id: string, code: FaultCode = "TOOL_TIMEOUT", wish: EndWish = {}): Telling {
  return ends(id, { how: "unheard", fault: fault(code, `${id} did not answer`) }, wish);
}

/** Started and answered. */
export function does(id: string, output: Json = { id: `${id} 1` }, wish: StartWish = {}): Move {
  return [starts(id, wish), answers(id, output)];
}

export function recovers(...found: readonly (Partial<Found> & { readonly id: string })[]): Telling {
  return (told) => ({
    type: "recover",
    taken: null,
    now: told.now,
    found: found.map(({ id, mark = "unknown", tool = told.tool(id) }) => ({
      step_id: id as StepId,
      mark,
      tool,
    })),
  });
}

export const seen = (output: Json): Sighting => ({ saw: "happened", output });
export const absent: Sighting = { saw: "absent" };
export const unclear: Sighting = { saw: "unknown", why: "the mail server is silent" };

export function settles(id: string, sighting: Sighting | null, wish: Partial<Ask<"settle">> = {}): Telling {
  return ({ now }) => ({ type: "settle", now, step_id: id as StepId, sighting, flaw: null, in_flight: [], ...wish });
}

export function resolves(
  id: string,
  verdict: Resolution,
  principal: Principal = ana,
  { attempt = null, in_flight = [] }: Partial<Pick<Ask<"resolve">, "attempt" | "in_flight">> = {},
): Telling {
  const said = { principal, verdict, attempt, reason: "I looked", in_flight };
  return ({ now }) => ({ type: "resolve", now, step_id: id as StepId, ...said });
}

export const happened = (output: Json, flaw: Fault | null = null): Resolution => ({ as: "happened", output, flaw });

/** A person asks for an act to be undone. */
export function undoes(id: string, tool?: ToolFacts | null, principal: Principal = ana): Telling {
  return (told) => resolves(id, { as: "undo", tool: tool === undefined ? told.tool(id) : tool }, principal)(told);
}

export function approves(id: string, principal: Principal = ana, wish: Partial<Ask<"approve">> = {}): Telling {
  return (told) => ({
    type: "approve",
    now: told.now,
    gate_id: told.gate(id).gate_id,
    principal,
    reason: "looks right",
    use_within_ms: 24 * hour,
    in_flight: [],
    ...wish,
  });
}

export function rejects(id: string, principal: Principal = ana, wish: Partial<Ask<"reject">> = {}): Telling {
  const said = { principal, reason: "not now", in_flight: [], ...wish };
  return (told) => ({ type: "reject", now: told.now, gate_id: told.gate(id).gate_id, ...said });
}

export function expires(id: string, in_flight: InFlight = []): Telling {
  return (told) => ({ type: "expire", now: told.now, gate_id: told.gate(id).gate_id, in_flight });
}

/** Another run was told "yes, again": the ledger's row for this step's act is that run's now. */
export function isSuperseded(id: string, by: Ask<"supersede">["by"]): Telling {
  return ({ now }) => ({ type: "supersede", now, step_id: id as StepId, by });
}

export const cancels: Telling = ({ now }): Command => ({ type: "cancel", now, principal: ana, reason: "never mind" });

/** A halt was lifted. */
export const wakes: Telling = ({ now }): Command => ({ type: "wake", now });

export const resumes: Telling = ({ now }): Command => ({ type: "resume", now, principal: ana, reason: "mended" });

export function delivers(notice_id: string): Telling {
  return ({ now }) => ({ type: "deliver", now, notice_id });
}
