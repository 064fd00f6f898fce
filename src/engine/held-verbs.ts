import type { Principal } from "../core/approval/principal.ts";
import { type Verb, verbRules } from "../core/approval/verb-rules.ts";
import { type HoldVerdict, type Policy, stricterHold, type Verdict } from "../core/call/guard.ts";
import { judgeVerbByPolicy } from "../core/call/judge-verb-by-policy.ts";
import { type Plan, planStep } from "../core/plan/plan.ts";
import type { Run } from "../core/run/run.ts";
import type { Check } from "../core/store/store.ts";
import type { GateRow } from "../core/store/tables.ts";
import { type Fault, FaultError, fault } from "../core/values/fault.ts";
import type { Digest, GateId, Instant, RunId, StepId, Tenant } from "../core/values/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";
import type { VerbJudge } from "./admin/verb-judge.ts";
import type { PrincipalOptions } from "./api/request-options.ts";
import { type HoldableVerb, optionsInInput, positionalNames, verbInput } from "./api/verb-arguments.ts";
import { toolPins } from "./call/tool-pins.ts";
import type { VerbPort } from "./call/verb-tools.ts";
import { isRulesChange } from "./journal/judged-request.ts";
import { newRun } from "./journal/load-run.ts";
import { RunMailbox } from "./journal/run-mailbox.ts";
import { listRows } from "./journal/store-listing.ts";
import { recordRefusedRun } from "./messages/refuse-run.ts";
import { ownRules } from "./messages/submit-run.ts";
import { digestOfJson } from "./ports/digest.ts";
import { type VerbEngine, type VerbMethod, type VerbMethods, verbMethods } from "./verb-methods.ts";
import type { LeasedRuns } from "./worker/leased-runs.ts";
import type { WorkerPorts } from "./worker/worker-ports.ts";

type Given<Name extends HoldableVerb> = Parameters<VerbMethods[Name]["use"]>[1];
type Options<Name extends HoldableVerb> = Parameters<VerbMethods[Name]["use"]>[2];
type Answer<Name extends HoldableVerb> = ReturnType<VerbMethods[Name]["use"]>;

/** The project and session whose policies judge a request. */
type VerbPlace = Pick<Run, "project" | "session">;

/** One use of a verb: the principal, and the arguments as rules and people see them. */
interface VerbRequest extends VerbPlace {
  readonly verb: HoldableVerb;
  readonly principal: Principal;
  readonly input: JsonObject;
}

/**
 * Uses the verbs that a tenant's policies judge. A request that a policy holds is a run with one step, which waits at a
 * gate from its first append on; a worker executes it after the approval, as it executes a call. A request that a
 * policy refuses is recorded as a refused run.
 */
export class HeldVerbs implements VerbPort {
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;
  readonly #engine: VerbEngine;
  readonly #judge: VerbJudge;

  constructor(ports: WorkerPorts, leasedRuns: LeasedRuns, engine: VerbEngine, judge: VerbJudge) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
    this.#engine = engine;
    this.#judge = judge;
  }

  /** Uses a verb whose table row was judged before, unless a policy refuses or holds it. Then it throws. */
  async use<Name extends HoldableVerb>(
    verb: Name,
    options: Options<Name> & { readonly principal: Principal },
    given: Given<Name>,
  ): Promise<Awaited<Answer<Name>>> {
    this.#leasedRuns.assertOpen();
    const method = verbMethod(verb);
    for (;;) {
      const checks = await this.#judgeByPolicies(verb, options, given);
      try {
        const judged = { ...options, checks };
        return (await method.use(this.#engine, given as never, judged as never)) as Awaited<Answer<Name>>;
      } catch (error) {
        if (!isRulesChange(error)) throw error; // Else the policies of now judge it.
      }
    }
  }

  /** Returns the policy row that allows the use, for the append that makes the change. Throws if it is not allowed. */
  async #judgeByPolicies(verb: HoldableVerb, options: PrincipalOptions, given: object): Promise<readonly Check[]> {
    const principal = options.principal as Principal;
    const { tenant } = principal;
    const { policies, clock } = this.#ports;
    await policies.refresh(tenant);
    if (isOperatorOfPolicies(verb, principal)) return [];
    const checks = policies.rowChecks(tenant);
    if (!policies.hasAny(tenant)) return checks;
    const input = verbInput(verb, given, options);
    const request: VerbRequest = { verb, principal, input, ...(await this.#place(tenant, input)) };
    const policy = policies.of({ tenant, project: request.project, session: request.session });
    if (policy === null) return checks;
    const verdict = judgeRequest(policy, request, clock.now());
    if (verdict.kind === "allow") return checks;
    if (verdict.kind === "refuse") {
      const shown = await verbMethod(verb).redact?.(this.#engine, given as never, options as never);
      const recorded = shown === undefined ? request : { ...request, input: verbInput(verb, given, shown) };
      throw await this.#refuse(recorded, verdict.fault);
    }
    throw await this.#hold({ ...request, input: await this.#pinned(verb, given, options) }, verdict);
  }

  /** Returns the input of a request that waits for a person. Throws if the request is certain to fail. */
  async #pinned(verb: HoldableVerb, given: object, options: PrincipalOptions): Promise<JsonObject> {
    const { check, pin } = verbMethod(verb);
    await check?.(this.#engine, given as never, options as never);
    return verbInput(verb, given, (await pin?.(this.#engine, given as never, options as never)) ?? options);
  }

  async readEdit({ principal, steps }: Run, verb: HoldableVerb, input: JsonObject): Promise<JsonObject> {
    const asked = steps.get(0)?.spec.payload;
    if (verb === "resolve" && input.as === "undo" && asked?.as !== "undo")
      throw new FaultError(fault("NOT_POSSIBLE", "other rules judge the undo of an act; reject this, and request it"));
    const names = positionalNames(verb);
    const given = Object.fromEntries(Object.entries(input).filter(([name]) => names.includes(name)));
    // The tool of the verb refuses unknown arguments.
    return { ...input, ...(await this.#pinned(verb, given, { ...optionsInInput(verb, input), principal })) };
  }

  /** Executes an approved request. The table judges it again, because roles can change while it waits. */
  async execute(run: Run, verb: HoldableVerb, input: JsonObject): Promise<Json> {
    const { principal } = run;
    const options = { ...optionsInInput(verb, input), principal, held_in: run.id };
    const method = verbMethod(verb);
    await this.#judge.judgeHeld(principal, verb, input);
    const { project, session } = await this.#place(principal.tenant, input);
    if (project !== run.project || session !== run.session) {
      const message = `the approved arguments belong to another project or session than the request; request ${verb} again`;
      throw new FaultError(fault("NOT_POSSIBLE", message));
    }
    const answer = await method.use(this.#engine, input as never, options as never);
    return (method.report?.(answer as never) ?? answer ?? null) as Json;
  }

  /** Returns the project and session that a request concerns: of its run, or named by its arguments. */
  async #place(tenant: Tenant, input: JsonObject): Promise<VerbPlace> {
    const { run_id, document } = input;
    const run = typeof run_id === "string" ? await this.#judge.acceptedEvent(tenant, run_id) : null;
    const scope = isJsonObject(document) && isJsonObject(document.scope) ? document.scope : {};
    const named = (field: "project" | "session"): string | null => {
      const value = run?.[field] ?? input[field] ?? scope[field];
      return typeof value === "string" ? value : null;
    };
    return { project: named("project"), session: named("session") };
  }

  /** Accepts the run of a request at its gate, in one append, and returns the fault that names the gate. */
  async #hold(request: VerbRequest, verdict: HoldVerdict): Promise<FaultError> {
    const { principal, input } = request;
    const call = { input, digest: digestOfJson(input), key: null, keyed_by: null };
    const waiting = await this.#findWaiting(request, call.digest);
    if (waiting !== null) return heldError(request, verdict.reason, waiting);
    const { clock, newId, limits, failpoint, gateNotices } = this.#ports;
    const now = clock.now();
    const id = newId("run", now) as RunId;
    const gate_id = newId("gate", now) as GateId;
    const { kind: _kind, ...why } = verdict;
    const mailbox = new RunMailbox(this.#ports, newRun(principal.tenant, id), null);
    failpoint("accept.before");
    await mailbox.ask(() => ({
      type: "accept",
      ...this.#accepted(request, id),
      held: { ...why, gate_id, gate_ms: limits.gateMs, ...gateNotices, call },
    }));
    failpoint("accept.after");
    this.#leasedRuns.notifyChange();
    return heldError(request, verdict.reason, { gate_id, run_id: id });
  }

  /** A request that waits is not made a second time. */
  async #findWaiting(
    { verb, principal }: VerbRequest,
    digest: Digest,
  ): Promise<Pick<GateRow, "gate_id" | "run_id"> | null> {
    const open = { where: { field: "status", equals: "open" } };
    for await (const { row } of listRows(this.#ports.store, principal.tenant, "gate", open)) {
      const gate = JSON.parse(row) as GateRow;
      if (gate.tool === verb && gate.requester === principal.id && gate.input_digest === digest) return gate;
    }
    return null;
  }

  async #refuse(request: VerbRequest, why: Fault): Promise<FaultError> {
    const id = this.#ports.newId("run", this.#ports.clock.now()) as RunId;
    const recorded = await recordRefusedRun(this.#ports, this.#accepted(request, id), why);
    if (recorded === null) return new FaultError(why);
    const message = `${why.message}; the refusal is on record as ${recorded}`;
    return new FaultError(fault(why.code, message, { run_id: recorded }));
  }

  /** Returns the fields that the runs of held and of refused requests have in common. */
  #accepted({ verb, principal, input, project, session }: VerbRequest, id: RunId) {
    const spec = { step_id: "request" as StepId, kind: "verb", name: verb, effect: "writes", payload: input } as const;
    const plan: Plan = { plan_id: null, schema_version: "1.0", intent_id: null, steps: [planStep(spec)] };
    return {
      now: this.#ports.clock.now(),
      run_id: id,
      origin: id,
      principal,
      // The mode is about calls of tools. The table and the policies judge a verb.
      mode: "auto_exec",
      plan,
      context: {},
      request: null,
      tools: toolPins(this.#ports, plan),
      deadline_at: null,
      ...(project !== null && { project }),
      ...(session !== null && { session }),
      rules: ownRules(this.#ports, principal.tenant),
      correlation_id: id,
      trace_id: id,
    } as const;
  }
}

function verbMethod(verb: HoldableVerb): VerbMethod {
  return verbMethods[verb];
}

/** The undo of one act is a use of `resolve`. Rules about `undo` judge it too, so that it is no way around them. */
function judgeRequest(policy: Policy, request: VerbRequest, now: Instant): Verdict {
  const verdict = judgeVerbByPolicy(policy, { ...request, now });
  if (request.verb !== "resolve" || request.input.as !== "undo" || verdict.kind === "refuse") return verdict;
  const asUndo = judgeVerbByPolicy(policy, { ...request, verb: "undo", now });
  if (asUndo.kind === "hold" && verdict.kind === "hold") return stricterHold(verdict, asUndo);
  return asUndo.kind === "allow" ? verdict : asUndo;
}

/** Without this exception, a policy that refuses every change of policies could never be removed. */
function isOperatorOfPolicies(verb: Verb, { roles = [] }: Principal): boolean {
  return verb.startsWith("policies.") && roles.includes("operator");
}

function heldError(
  { verb, principal }: VerbRequest,
  reason: string,
  { gate_id, run_id }: Pick<GateRow, "gate_id" | "run_id">,
): FaultError {
  const { about } = verbRules[verb];
  const message = `the request of ${principal.id} to ${about} is held: ${reason}; it is executed once a person approves gate ${gate_id}`;
  return new FaultError(fault("HELD_FOR_APPROVAL", message, { gate_id, run_id }));
}
