import { judgeVerb, NO_FACTS, type VerbTarget, verbReach } from "../../core/approval/judge-verb.ts";
import type { Principal } from "../../core/approval/principal.ts";
import { type Verb, verbRules } from "../../core/approval/verb-rules.ts";
import type { Event } from "../../core/event/event.ts";
import { sharedTenant } from "../../core/store/store.ts";
import type { RunRow } from "../../core/store/tables.ts";
import { type Fault, FaultError } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { isName } from "../../core/values/is-name.ts";
import type { JsonObject } from "../../core/values/json.ts";
import type { EngineOptions } from "../api/engine-api.ts";
import type { PrincipalOptions } from "../api/request-options.ts";
import type { HoldableVerb } from "../api/verb-arguments.ts";
import { type EngineVerb, readPrincipalOptions } from "../api/verb-options.ts";
import { loadEventAt } from "../journal/load-run.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { AuthenticatedPrincipals } from "./authenticated-principals.ts";

type JudgedOptions<Options> = Options & { readonly principal: Principal };

/** A run by its id, which may be anything that a caller passes. */
export interface RunTarget {
  readonly runId: unknown;
}

/** Judges each use of a verb by the table, before anything else happens. */
export class VerbJudge {
  readonly #ports: WorkerPorts;
  readonly #assertOpen: () => void;
  readonly principals: AuthenticatedPrincipals;

  /** `assertOpen` throws if the engine is closed: its store can no longer be read. */
  constructor(ports: WorkerPorts, assertOpen: () => void, authenticate?: EngineOptions["authenticate"]) {
    this.#ports = ports;
    this.#assertOpen = assertOpen;
    this.principals = new AuthenticatedPrincipals(authenticate);
  }

  #read<Options extends PrincipalOptions>(verb: EngineVerb, given: Options): JudgedOptions<Options> {
    const options = readPrincipalOptions(verb, given);
    this.principals.assertKnown(given.principal);
    return options;
  }

  /** Reads the options of a verb and judges its use. Returns a copy of the options. */
  judge<Options extends PrincipalOptions>(
    verb: EngineVerb,
    given: Options,
    find: (options: JudgedOptions<Options>) => VerbTarget = () => NO_FACTS,
    use: (options: Options) => Verb = () => verb,
  ): JudgedOptions<Options> {
    const options = this.#read(verb, given);
    this.#assertOpen();
    this.assertAllowed(options.principal, use(options), find(options));
    return options;
  }

  /** The same for a verb whose target may be a run. The run is read only if its submitter or its project matters. */
  async judgeOn<Options extends PrincipalOptions>(
    verb: EngineVerb,
    given: Options,
    find: (options: JudgedOptions<Options>) => VerbTarget | RunTarget,
    use: (options: Options) => Verb = () => verb,
  ): Promise<JudgedOptions<Options>> {
    const options = this.#read(verb, given);
    this.#assertOpen();
    const { principal } = options;
    const target = find(options);
    const as = use(options);
    this.assertAllowed(principal, as, "runId" in target ? await this.findRun(principal, as, target.runId) : target);
    return options;
  }

  /** The same for a verb that shows the whole store: `everything` is judged if it holds journals of other tenants. */
  async judgeStoreUse<Options extends PrincipalOptions>(
    verb: EngineVerb,
    everything: Verb,
    given: Options,
  ): Promise<JudgedOptions<Options>> {
    const { principal } = this.#read(verb, given);
    const isShared = await this.#isStoreShared(principal);
    return this.judge(
      verb,
      given,
      () => NO_FACTS,
      () => (isShared ? everything : verb),
    );
  }

  async #isStoreShared(principal: Principal): Promise<boolean> {
    this.#assertOpen();
    const tenants = (await this.#ports.store.copies?.tenants()) ?? [];
    return tenants.some((tenant) => tenant !== principal.tenant && tenant !== sharedTenant);
  }

  /** Judges the use of a verb that was held. Its arguments may name a run. */
  async judgeHeld(principal: Principal, verb: HoldableVerb, { run_id, everything }: JsonObject): Promise<void> {
    const target = typeof run_id === "string" ? await this.findRun(principal, verb, run_id) : NO_FACTS;
    const asEverything = everything === true || (verb === "backup" && (await this.#isStoreShared(principal)));
    const whole = `${verb}:everything`;
    this.assertAllowed(principal, asEverything && whole in verbRules ? (whole as Verb) : verb, target);
  }

  assertAllowed(principal: Principal, verb: Verb, target: VerbTarget): void {
    if ("contested" in verbRules[verb]) return; // `decide` judges it and records a refusal.
    throwFault(judgeVerb(principal, verb, { ...target, admin: this.#ports.tenants.adminRole(principal.tenant) }));
  }

  /**
   * Returns the submitter and the project of a run. A run that does not exist counts as the principal's own, so that the
   * verb reports that there is no such run.
   */
  async #runTarget({ id, tenant }: Principal, runId: unknown): Promise<VerbTarget> {
    this.#assertOpen();
    if (!isName(runId) || (await this.#ports.store.head(tenant, runId as RunId)) === null)
      return { by: id, project: null };
    const stored = await this.#ports.store.row(tenant, "run", runId);
    const accepted = await this.acceptedEvent(tenant, runId);
    const row = stored === null ? null : (JSON.parse(stored.row) as RunRow);
    return { by: row?.principal ?? accepted?.principal.id ?? null, project: accepted?.project ?? null };
  }

  /** Returns the target if the verb's rule needs it for this principal. */
  async findRun(principal: Principal, verb: Verb, runId: unknown): Promise<VerbTarget> {
    const needsRun = verbReach(principal, verb) !== "tenant" || (principal.capabilities ?? []).length > 0;
    return needsRun ? this.#runTarget(principal, runId) : NO_FACTS;
  }

  /** Returns the first event of a run. Null: the run does not exist, or retention has erased the event. */
  async acceptedEvent(tenant: Tenant, runId: string): Promise<Extract<Event, { type: "run.accepted" }> | null> {
    const event = isName(runId) ? await loadEventAt(this.#ports.store, tenant, runId as RunId, 1) : null;
    return event?.type === "run.accepted" ? event : null;
  }
}

function throwFault(refused: Fault | null): void {
  if (refused !== null) throw new FaultError(refused);
}
