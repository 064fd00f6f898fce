import { FaultError } from "../src/core/fault.ts";
import type { RunId } from "../src/core/id.ts";
import { canonical } from "../src/core/json/canonical.ts";
import type { Json, JsonObject } from "../src/core/json/json.ts";
import { checkPlan } from "../src/core/plan/check-plan.ts";
import type { RunResult } from "../src/core/result.ts";
import type { RunHandle, SubmitOptions } from "../src/engine/api.ts";
import { toolsOfState } from "../src/engine/desk/state-tools.ts";
import { Toolbox } from "../src/engine/road/toolbox.ts";
import { cel } from "../src/expression/cel.ts";
import { cast } from "./cast.ts";
import type { Company } from "./company.ts";
import { clerks, slices } from "./desk.ts";
import { drawPlan } from "./plans.ts";
import type { Scene } from "./scene.ts";

/** A request as its sender means it. */
interface Wish {
  readonly plan: JsonObject;
  readonly options: SubmitOptions;
  tries: number;
  /** No answer yet, and no try under way. */
  answered: boolean;
}

/** How long a client waits for an answer before it asks again. */
const PATIENCE_MS = 45_000;
const MOST_TRIES = 12;

/** Those who ask for work: they send twice, send again, and send other things under the same key. */
export class Clients {
  readonly #scene: Scene;
  readonly #company: Company;
  /** Which run answers a request key, and for which plan. */
  readonly #requests = new Map<string, { readonly run: RunId; readonly plan: string }>();
  readonly #counts = new Map<string, number>();
  #waiting = 0;

  constructor(scene: Scene, company: Company) {
    this.#scene = scene;
    this.#company = company;
    scene.record.witness(({ event, before, after }) => {
      if (event.type !== "run.accepted") return;
      scene.counts.runs += 1;
      if (event.request === null) return;
      const name = nameOf(event.principal, event.request.key);
      const known = this.#requests.get(name);
      if (known !== undefined) scene.violate(`request ${name} became ${known.run} and ${before.id}`);
      this.#requests.set(name, { run: event.run_id, plan: canonical(after.plan as unknown as Json) });
    });
    for (let count = 0; count < scene.swarm.runs; count += 1) this.#plan();
  }

  /** Every client has its answer or has given up. */
  get done(): boolean {
    return this.#waiting === 0;
  }

  #plan(): void {
    const { rng, swarm } = this.#scene;
    const tenant = rng.pick(swarm.tenants).name;
    const plan = drawPlan(rng, swarm, tenant);
    const principal = rng.chance(0.85)
      ? ({ id: rng.pick(["bot", "crawler"]), kind: "agent", tenant } as const)
      : ({ id: "eve", kind: "person", tenant } as const);
    const requestKey = rng.chance(0.7) ? this.#nextKey(`${tenant} ${principal.id}`) : null;
    const options: SubmitOptions = {
      principal,
      ...(requestKey !== null && { requestKey }),
      ...(swarm.desk && rng.chance(0.8) && { project: `p${rng.below(2)}` }),
      ...(rng.chance(0.1) && { deadlineMs: rng.between(1000, 120_000) }),
    };
    this.#send({ plan, options, tries: 0, answered: false }, rng.below(swarm.spanMs));
    if (rng.chance(swarm.folk.rehearses)) this.#rehearse(plan, options);
    if (requestKey === null) return;
    if (rng.chance(swarm.folk.resubmits))
      this.#send({ plan, options, tries: 0, answered: false }, rng.below(swarm.spanMs));
    if (rng.chance(swarm.folk.conflicts)) {
      const other = drawPlan(rng, swarm, tenant);
      this.#send({ plan: other, options, tries: 0, answered: false }, rng.below(swarm.spanMs));
    }
  }

  /** Each counts for itself: two tenants, and two in one, use the same keys. */
  #nextKey(whose: string): string {
    const count = (this.#counts.get(whose) ?? 0) + 1;
    this.#counts.set(whose, count);
    return `request ${count}`;
  }

  #send(wish: Wish, inMs: number): void {
    const { agenda } = this.#scene;
    this.#waiting += 1;
    const happen = () => this.#ask(wish);
    agenda.addAt(agenda.now() + inMs, { name: "submit", owner: 0, about: wish.options.requestKey ?? "", happen });
  }

  #ask(wish: Wish): string {
    this.#waiting -= 1;
    if (wish.answered) return "answered meanwhile";
    const { plan, options } = wish;
    const asked = this.#company.ask("submit", (engine) => engine.submit(plan, options));
    if (asked === null) {
      this.#send(wish, 500);
      return "nobody there";
    }
    wish.tries += 1;
    if (options.requestKey !== undefined && wish.tries < MOST_TRIES) this.#send(wish, PATIENCE_MS);
    void asked.then(
      (handle) => this.#answered(wish, handle),
      (error: unknown) => this.#refused(wish, error),
    );
    return "asked";
  }

  #answered(wish: Wish, handle: RunHandle): void {
    const { rng, counts, swarm } = this.#scene;
    wish.answered = true;
    if (handle.attached) counts.attached += 1;
    this.#compare(wish, handle.run_id);
    if (!rng.chance(swarm.folk.waits)) return;
    void this.#company
      .ask("result", async (engine) => (await engine.run(handle.run_id, wish.options)).result())
      ?.then((result) => this.#believe(result), unheard(this.#scene));
  }

  /** I2: what a caller is told has happened, as the record has it. */
  #believe({ run_id, status, final }: RunResult): void {
    const { counts, record, tables, violate } = this.#scene;
    counts.results += 1;
    const kept = record.get(run_id);
    if (!final || kept === undefined) return;
    const events = tables.events.get(kept.tenant, run_id) ?? [];
    const end = events.findLast(({ type, body }) => type === "run.ended" && body?.includes(`"${status}"`));
    if (end === undefined) violate(`a client was told that ${run_id} is ${status}, and it is not`);
    else kept.told = Math.max(kept.told, end.position);
  }

  /** Asks what would happen. Nothing of it may. */
  #rehearse(plan: JsonObject, { principal }: SubmitOptions): void {
    const { agenda, counts, rng, swarm } = this.#scene;
    const happen = () => {
      counts.rehearsals += 1;
      const asked = this.#company.ask("simulate", (engine) => engine.simulate(plan, { principal }));
      void asked?.catch(unheard(this.#scene));
      return "asked";
    };
    agenda.addAt(agenda.now() + rng.below(swarm.spanMs), { name: "simulate", owner: 0, about: "", happen });
  }

  /** Whoever asks twice for the same gets the same, and nobody gets what another plan became. */
  #compare({ plan, options: { principal, requestKey } }: Wish, run: RunId): void {
    if (requestKey === undefined) return;
    const name = nameOf(principal, requestKey);
    const known = this.#requests.get(name);
    if (known === undefined || known.run !== run) {
      this.#scene.violate(`request ${name} was answered with ${run}, it became ${known?.run}`);
      return;
    }
    if (known.plan !== normal(plan)) this.#scene.violate(`request ${name} with two plans became one run ${run}`);
  }

  #refused(wish: Wish, error: unknown): void {
    const { counts } = this.#scene;
    if (!(error instanceof FaultError)) {
      this.#scene.violate(`a client was told ${String(error)}`);
      return;
    }
    const { code } = error.fault;
    if (isUnheard(code)) return;
    if (code === "PLAN_INVALID" && this.#scene.swarm.skew > 0) {
      this.#send(wish, 1000); // It asked someone who lacks a tool.
      return;
    }
    wish.answered = true;
    if (code !== "REQUEST_KEY_REUSED") this.#scene.violate(`a client was refused: ${error.message}`);
    counts.requestsRefused += 1;
    const { principal, requestKey = "" } = wish.options;
    const known = this.#requests.get(nameOf(principal, requestKey));
    if (known === undefined || known.plan === normal(wish.plan))
      this.#scene.violate(
        `I10: ${nameOf(principal, requestKey)} was refused, and nobody had used it for anything else`,
      );
  }
}

const toolbox = new Toolbox([...cast, ...clerks, ...toolsOfState(slices)], cel);

/** Two plans that differ only in what they leave unsaid are one. */
function normal(plan: JsonObject): string {
  const checked = checkPlan(plan, { tools: toolbox, context: {}, strict: false });
  return canonical(checked.ok ? (checked.plan as unknown as Json) : plan);
}

function nameOf({ tenant, id }: SubmitOptions["principal"], key: string): string {
  return `${tenant} ${id} ${key}`;
}

function isUnheard(code: string): boolean {
  return code.startsWith("STORE_") || code === "ENGINE_CLOSED";
}

/** A caller may go without an answer, but not with one that is no fault. */
function unheard({ violate, swarm }: Scene): (error: unknown) => void {
  return (error) => {
    const code = error instanceof FaultError ? error.fault.code : null;
    const known = code !== null && (isUnheard(code) || (code === "PLAN_INVALID" && swarm.skew > 0));
    if (!known) violate(`a client was told ${String(error)}`);
  };
}
