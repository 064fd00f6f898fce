import { canonicalJson } from "../src/core/json/canonical-json.ts";
import { checkPlan } from "../src/core/plan/check-plan.ts";
import type { RunResult } from "../src/core/run/run-result.ts";
import { type Fault, FaultError } from "../src/core/values/fault.ts";
import type { RunId } from "../src/core/values/ids.ts";
import type { Json, JsonObject } from "../src/core/values/json.ts";
import type { RunHandle, SubmitOptions } from "../src/engine/api/engine-api.ts";
import { ToolRegistry } from "../src/engine/call/tool-registry.ts";
import { makeStateTools } from "../src/engine/state/state-tools.ts";
import { cel } from "../src/expression/cel.ts";
import { drawSimPlan } from "./draw-sim-plan.ts";
import type { SimContext } from "./sim-context.ts";
import { FORBIDDEN_TEXT } from "./sim-rules.ts";
import { simSlices, simStateTools } from "./sim-state-tools.ts";
import { simTools } from "./sim-tools.ts";
import type { WorkerPool } from "./worker-pool.ts";

/** A submission that a client repeats until it is answered. */
interface RunRequest {
  readonly plan: JsonObject;
  readonly options: SubmitOptions;
  tries: number;
  /** True once the client has an answer or a final refusal. */
  answered: boolean;
}

/** How long a client waits for an answer before it asks again. */
const ANSWER_TIMEOUT_MS = 45_000;
const MAX_TRIES = 12;

/** Clients that submit plans: twice, again after a lost answer, and with another plan under the same request key. */
export class RunClients {
  readonly #sim: SimContext;
  readonly #pool: WorkerPool;
  /** By request key: its run and plan. */
  readonly #requests = new Map<string, { readonly run: RunId; readonly plan: string }>();
  readonly #counts = new Map<string, number>();
  #waiting = 0;

  constructor(sim: SimContext, pool: WorkerPool) {
    this.#sim = sim;
    this.#pool = pool;
    sim.observer.onEvent(({ event, before, after }) => {
      if (event.type !== "run.accepted") return;
      sim.counts.runs += 1;
      if (event.request === null) return;
      const name = requestName(event.principal, event.request.key);
      const known = this.#requests.get(name);
      if (known !== undefined) sim.violate(`request ${name} started both ${known.run} and ${before.id}`);
      this.#requests.set(name, { run: event.run_id, plan: canonicalJson(after.plan as unknown as Json) });
    });
    for (let count = 0; count < sim.config.runs; count += 1) this.#plan();
  }

  /** True if every client has its answer or has given up. */
  get done(): boolean {
    return this.#waiting === 0;
  }

  #plan(): void {
    const { rng, config } = this.#sim;
    const tenant = rng.pick(config.tenants).name;
    const plan = drawSimPlan(rng, config, tenant);
    const principal = rng.chance(0.85)
      ? ({ id: rng.pick(["bot", "crawler"]), kind: "agent", tenant } as const)
      : ({ id: "eve", kind: "person", tenant } as const);
    const requestKey = rng.chance(0.7) ? this.#nextKey(`${tenant} ${principal.id}`) : null;
    const options: SubmitOptions = {
      principal,
      ...(requestKey !== null && { requestKey }),
      ...(config.usesState && rng.chance(0.8) && { project: `p${rng.below(2)}` }),
      ...(rng.chance(0.1) && { deadlineMs: rng.between(1000, 120_000) }),
    };
    this.#send({ plan, options, tries: 0, answered: false }, rng.below(config.spanMs));
    if (rng.chance(config.peopleBehaviour.simulates)) this.#simulate(plan, options);
    if (requestKey === null) return;
    if (rng.chance(config.peopleBehaviour.resubmits))
      this.#send({ plan, options, tries: 0, answered: false }, rng.below(config.spanMs));
    if (rng.chance(config.peopleBehaviour.conflicts)) {
      const other = drawSimPlan(rng, config, tenant);
      this.#send({ plan: other, options, tries: 0, answered: false }, rng.below(config.spanMs));
    }
  }

  /** Returns the next request key of a principal; different principals use the same keys. */
  #nextKey(owner: string): string {
    const count = (this.#counts.get(owner) ?? 0) + 1;
    this.#counts.set(owner, count);
    return `request ${count}`;
  }

  #send(request: RunRequest, inMs: number): void {
    const { scheduler } = this.#sim;
    this.#waiting += 1;
    const execute = () => this.#ask(request);
    scheduler.addAt(scheduler.now() + inMs, {
      name: "submit",
      owner: 0,
      about: request.options.requestKey ?? "",
      execute,
    });
  }

  #ask(request: RunRequest): string {
    this.#waiting -= 1;
    if (request.answered) return "already answered";
    const { plan, options } = request;
    const sent = this.#pool.ask("submit", (engine) => engine.submit(plan, options));
    if (sent === null) {
      this.#send(request, 500);
      return "no process";
    }
    request.tries += 1;
    if (options.requestKey !== undefined && request.tries < MAX_TRIES) this.#send(request, ANSWER_TIMEOUT_MS);
    void sent.then(
      (handle) => this.#answered(request, handle),
      (error: unknown) => this.#handleError(request, error),
    );
    return "sent";
  }

  #answered(request: RunRequest, handle: RunHandle): void {
    const { rng, counts, config } = this.#sim;
    request.answered = true;
    if (handle.attached) counts.attached += 1;
    this.#checkSameRun(request, handle.run_id);
    if (!rng.chance(config.peopleBehaviour.waits)) return;
    void this.#pool
      .ask("result", async (engine) =>
        (await engine.run(handle.run_id, { principal: request.options.principal })).result(),
      )
      ?.then((result) => this.#checkResult(result), reportUnexpectedError(this.#sim));
  }

  /** I2: a returned result is recorded in the journal. */
  #checkResult({ run_id, status, final }: RunResult): void {
    const { counts, observer, tables, violate } = this.#sim;
    counts.results += 1;
    const observedRun = observer.get(run_id);
    if (!final || observedRun === undefined) return;
    const events = tables.events.get(observedRun.tenant, run_id) ?? [];
    const end = events.findLast(({ type, body }) => type === "run.ended" && body?.includes(`"${status}"`));
    if (end === undefined) violate(`a client received the status ${status} of ${run_id}, which is not recorded`);
    else observedRun.reportedPosition = Math.max(observedRun.reportedPosition, end.position);
  }

  /** Asks the engine to simulate a plan, which must have no effect. */
  #simulate(plan: JsonObject, { principal }: SubmitOptions): void {
    const { scheduler, counts, rng, config } = this.#sim;
    const execute = () => {
      counts.rehearsals += 1;
      const sent = this.#pool.ask("simulate", (engine) => engine.simulate(plan, { principal }));
      void sent?.catch(reportUnexpectedError(this.#sim));
      return "sent";
    };
    scheduler.addAt(scheduler.now() + rng.below(config.spanMs), { name: "simulate", owner: 0, about: "", execute });
  }

  /** The same request returns the same run, and no request returns the run of another plan. */
  #checkSameRun({ plan, options: { principal, requestKey } }: RunRequest, run: RunId): void {
    if (requestKey === undefined) return;
    const name = requestName(principal, requestKey);
    const known = this.#requests.get(name);
    if (known === undefined || known.run !== run) {
      this.#sim.violate(`request ${name} was answered with ${run} instead of ${known?.run}`);
      return;
    }
    if (known.plan !== normalizePlan(plan)) this.#sim.violate(`request ${name} with two plans returned one run ${run}`);
  }

  /** A person may approve a call with a forbidden text. Until the call is rejected, its request is refused. */
  #hasForbiddenText(run: RunId | undefined): boolean {
    const observed = run === undefined ? undefined : this.#sim.observer.get(run);
    if (run === undefined || observed === undefined) return false;
    const events = this.#sim.tables.events.get(observed.tenant, run) ?? [];
    return events.some(({ body }) => body?.includes(FORBIDDEN_TEXT));
  }

  #handleError(request: RunRequest, error: unknown): void {
    const { counts } = this.#sim;
    if (!(error instanceof FaultError)) {
      this.#sim.violate(`a client received an unexpected error: ${String(error)}`);
      return;
    }
    const { code } = error.fault;
    if (isStoreFault(code)) return;
    if (code === "PLAN_INVALID" && this.#sim.config.missingTool > 0) {
      this.#send(request, 1000); // The process lacks a tool.
      return;
    }
    request.answered = true;
    const { principal, requestKey = "" } = request.options;
    const known = this.#requests.get(requestName(principal, requestKey));
    counts.requestsRefused += 1;
    if (code === "POLICY_DENIED" && namedRun(error.fault) === known?.run && this.#hasForbiddenText(known?.run)) return;
    if (code !== "REQUEST_KEY_REUSED") this.#sim.violate(`a client was refused: ${error.message}`);
    if (known === undefined || known.plan === normalizePlan(request.plan))
      this.#sim.violate(
        `I10: ${requestName(principal, requestKey)} was refused, though its key was not used for another plan`,
      );
  }
}

const toolbox = new ToolRegistry([...simTools, ...simStateTools, ...makeStateTools(simSlices)], cel);

/** Returns the plan with its defaults, so that equal plans have equal text. */
function normalizePlan(plan: JsonObject): string {
  const checked = checkPlan(plan, { tools: toolbox.callable, context: {}, strict: false });
  return canonicalJson(checked.ok ? (checked.plan as unknown as Json) : plan);
}

/** Returns the run that a refusal names. */
function namedRun({ detail }: Fault): unknown {
  return (detail as JsonObject | undefined)?.run_id;
}

function requestName({ tenant, id }: SubmitOptions["principal"], key: string): string {
  return `${tenant} ${id} ${key}`;
}

function isStoreFault(code: string): boolean {
  return code.startsWith("STORE_") || code === "ENGINE_CLOSED";
}

/** A caller may receive a store fault, but no other error. */
function reportUnexpectedError({ violate, config }: SimContext): (error: unknown) => void {
  return (error) => {
    const code = error instanceof FaultError ? error.fault.code : null;
    const known = code !== null && (isStoreFault(code) || (code === "PLAN_INVALID" && config.missingTool > 0));
    if (!known) violate(`a client received an unexpected error: ${String(error)}`);
  };
}
