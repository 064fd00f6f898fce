import { type Principal, stateBounds } from "../../core/approval/principal.ts";
import type { StateFact } from "../../core/decide/command.ts";
import type { HandlerResult } from "../../core/decide/handler-result.ts";
import { setsExpectedEffects } from "../../core/plan/expected-effects.ts";
import type { ExpectedEffect } from "../../core/plan/plan.ts";
import { LEFT_PLACES_MAX, type RevertReport } from "../../core/ports/revert-report.ts";
import { type Run, runStateKey, type Step } from "../../core/run/run.ts";
import { stepPrincipal } from "../../core/run/step-principal.ts";
import { Draft, type DraftOptions } from "../../core/state/draft.ts";
import { Footprint, findStateConflict, type Patch } from "../../core/state/patch.ts";
import { applyPatch } from "../../core/state/project-state.ts";
import { type PolicyState, readStateValue } from "../../core/state/read-state-value.ts";
import { revertOwnChanges } from "../../core/state/revert-own-changes.ts";
import type { Slice, SlicePolicy } from "../../core/state/slice.ts";
import type { Snapshot } from "../../core/state/snapshot.ts";
import type { StateAccess } from "../../core/state/state-access-order.ts";
import { StateAfterPatch } from "../../core/state/state-after-patch.ts";
import type { StateChange } from "../../core/state/state-change.ts";
import { type Effect, worseEffect } from "../../core/values/effect.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import { type Json, sameJson } from "../../core/values/json.ts";
import { toStorableJson } from "../ports/storable-json.ts";
import type { StateVersion, VersionedState } from "./project-states.ts";
import { setDraftValue } from "./set-draft-value.ts";
import { snapshotDraft } from "./slice-snapshots.ts";
import { snapshotVerbs } from "./snapshot-verbs.ts";
import type { StatePorts } from "./state-ports.ts";

/** The state that a run works on. */
export function openRunState({ projects }: StatePorts, run: Run): Promise<VersionedState> {
  return projects.open(run.tenant, runStateKey(run), run.forked?.state ?? null);
}

/** Returns the invariant of a slice or a policy that the patch would break, or null. */
export function findInvariantFault(
  { policies, slices }: StatePorts,
  run: Run,
  project: VersionedState,
  patch: Patch,
): Fault | null {
  if (patch.length === 0) return null;
  const stateAfter = () => new StateAfterPatch(project.head.state, patch, { slices, session: run.session ?? "" });
  return project.invariantFault(patch) ?? policies.of(run)?.brokenInvariant(stateAfter) ?? null;
}

/** The access of an attempt to state, and the state that its admission read. */
interface AttemptTerms {
  readonly effect: Effect;
  readonly declared: StateAccess;
  readonly admittedOn: PolicyState | null;
  readonly principal: Principal;
  /** The values that the plan sets when the call has succeeded, and those that it checks then. */
  readonly sets: readonly ExpectedEffect[];
  readonly checks: readonly ExpectedEffect[];
}

function attemptTerms(
  { toolbox }: StatePorts,
  { spec }: Step,
): Pick<AttemptTerms, "effect" | "declared" | "sets" | "checks"> {
  const tool = toolbox.get(spec.name);
  const { expected_effects: expected } = spec;
  const isSet = expected.length > 0 && tool !== undefined && setsExpectedEffects(tool);
  const state_writes = spec.state_writes ?? tool?.stateWrites ?? null;
  const declared = {
    state_reads: spec.state_reads ?? tool?.stateReads ?? null,
    state_writes: isSet ? [...(state_writes ?? NONE), ...expected.map(({ state }) => state)] : state_writes,
  };
  const effect = worseEffect(spec.effect, tool?.effect ?? "acts");
  return { effect, declared, sets: isSet ? expected : NONE, checks: isSet ? NONE : expected };
}

const NONE: readonly never[] = [];

/** A change that is applied to the latest state when the call has ended: an event for the slices, or a value. */
type DispatchedChange = { readonly event: string; readonly payload: Json } | { readonly set: ExpectedEffect };

/** The event that every ended call dispatches, if a slice has a reducer for it. */
export const TOOL_INVOKED = "tool.invoked";

/**
 * The state that one attempt works on: a draft of its project's state, private until the attempt succeeds. `fact` rebases
 * the draft on the latest version each time the end of the attempt is decided.
 */
export class AttemptState {
  readonly #ports: StatePorts;
  readonly #project: VersionedState;
  readonly #base: StateVersion;
  readonly #draft: Draft;
  readonly #effect: Effect;
  readonly #bounds: Pick<DraftOptions, "declared" | "bounds">;
  readonly #session: string;
  readonly #run: Run;
  readonly #admittedOn: PolicyState | null;
  readonly #commit: string;
  /** The events that an act dispatched, the values that the plan sets, and the end of the call. */
  readonly #dispatched: DispatchedChange[] = [];
  readonly #sets: readonly ExpectedEffect[];
  readonly #checks: readonly ExpectedEffect[];
  /** The values of the plan apply only if the call has succeeded. */
  #succeeded = false;
  #rebased: RebasedChange | null = null;

  constructor(ports: StatePorts, project: VersionedState, run: Run, terms: AttemptTerms) {
    const { effect, declared, admittedOn, principal, sets, checks } = terms;
    this.#ports = ports;
    this.#run = run;
    this.#admittedOn = admittedOn;
    this.#sets = sets;
    this.#checks = checks;
    this.#project = project;
    this.#base = project.head;
    this.#effect = effect;
    this.#session = run.session ?? "";
    this.#bounds = { declared, bounds: stateBounds(principal) };
    this.#draft = this.#draftOf(this.#base, effect === "writes", this.#bounds);
    this.#commit = ports.newId("cmt", ports.clock.now());
  }

  /** `admittedOn`: the state that the policies read when they admitted the call. */
  static async open(
    ports: StatePorts,
    run: Run,
    step: Step,
    admittedOn: PolicyState | null = null,
  ): Promise<AttemptState> {
    const principal = stepPrincipal(run, step);
    const terms = { ...attemptTerms(ports, step), admittedOn, principal };
    return new AttemptState(ports, await openRunState(ports, run), run, terms);
  }

  slice(slice: Slice): ReturnType<Draft["slice"]> {
    return this.#draft.slice(slice);
  }

  dispatch(event: string, given: Json): void {
    const payload = toStorableJson(given);
    if (payload === undefined)
      throw this.#draft.refuse(fault("STATE_INVALID", `the payload of the event ${event} is not JSON`));
    if (this.#effect === "writes") this.#draft.dispatch(event, payload);
    else if (this.#effect === "acts") this.#dispatched.push({ event, payload });
    else throw this.#draft.refuse(this.#readOnlyFault());
  }

  #readOnlyFault(): Fault {
    const message = `a tool with the effect ${this.#effect} cannot change state; declare the effect writes`;
    return fault("STATE_FORBIDDEN", message);
  }

  /** Puts the places back that the own versions wrote and nothing else has changed since. */
  async revert(own: ReadonlySet<number>): Promise<RevertReport> {
    const first = Math.min(...own);
    const found = own.size === 0 ? null : await this.#project.versionsFrom(first - 1);
    const base = found?.findIndex(({ version }) => version === this.#base.version) ?? -1;
    if (found === null || base < 0) return own.size === 0 ? NOTHING_TO_REVERT : leftWhole(HISTORY_GONE);
    const [before, ...since] = found.slice(0, base + 1) as [StateVersion, ...StateVersion[]];
    const versions = since.map(({ version, point, patch }) => {
      return { patch, by: point?.run_id ?? "", isOwn: own.has(version) };
    });
    const { patch, restored, left } = revertOwnChanges(before.state, versions, this.#ports.slices);
    const broken = findInvariantFault(this.#ports, this.#run, this.#project, patch);
    if (broken !== null) return leftWhole(broken.message);
    for (const change of patch) this.#draft.revert(change);
    return { restored, left: left.length, places: left.slice(0, LEFT_PLACES_MAX) };
  }

  /** Ends the draft: later changes by the handler are ignored. Dispatches the end of the call. */
  close(
    ending: HandlerResult,
    about: { readonly tool: string; readonly step_id: string; readonly attempt: number },
  ): void {
    this.#draft.close();
    // A snapshot is not part of the work that it shows.
    if (about.tool === snapshotVerbs.take) return;
    const why = ending.how === "value" ? (ending.flaw ?? this.#draft.fault) : ending.fault;
    this.#succeeded = why === null;
    if (this.#succeeded) this.#dispatched.push(...this.#sets.map((set) => ({ set })));
    if (!this.#ports.slices.some(({ reducers }) => Object.hasOwn(reducers, TOOL_INVOKED))) return;
    this.#dispatched.push({
      event: TOOL_INVOKED,
      payload: { ...about, success: why === null, fault: why && { ...why } },
    });
  }

  /** Releases the state. Later changes by the handler are ignored. */
  release(): void {
    this.#draft.close();
    this.#project.leave();
  }

  /** True if the output may depend on state. */
  get hasRead(): boolean {
    return this.#draft.reads.size > 0;
  }

  get written(): Patch {
    return this.#draft.patch;
  }

  /** Returns the slices with one of these policies, as the call sees them. It counts as reading them. */
  snapshotSlices(policies: readonly SlicePolicy[]): Snapshot["slices"] {
    const chosen = this.#ports.slices.filter(({ policy }) => policies.includes(policy));
    return Object.fromEntries(chosen.map((slice) => [slice.name, snapshotDraft(slice, this.#draft.slice(slice))]));
  }

  /** The version that the attempt reads, and the paths that it has read. */
  get reads(): { readonly base: StateVersion; readonly paths: Iterable<string> } {
    return { base: this.#base, paths: this.#draft.reads.places };
  }

  /** Why the change is not valid on the latest version, or null. */
  get fault(): Fault | null {
    return this.#rebase().change.flaw;
  }

  /** Computes the change on the latest version. `fails`: the attempt may fail, and then publishes its log entries. */
  fact(fails: boolean): StateFact {
    const { change } = this.#rebase();
    const conflict = this.#conflict();
    return {
      base: this.#base.version,
      change: this.#changeOf(change.patch),
      logged: fails || conflict !== null || change.flaw !== null ? this.#logged() : null,
      conflict,
      fault: change.flaw,
      written: this.written,
    };
  }

  #logged(): StateChange | null {
    const { head } = this.#project;
    return this.#changeOf(this.#whole(this.#with(head, this.#loggedOn(head), null, true)).patch);
  }

  /** Appends the log entries to the latest version: they do not depend on what the attempt read. */
  #loggedOn(head: StateVersion): Patch {
    const { logged } = this.#draft;
    if (head === this.#base || logged.length === 0) return logged;
    const again = this.#draftOf(head, true, {});
    for (const change of logged) if (change.op === "append") again.append(change);
    return again.patch;
  }

  /** Returns a path that the attempt read or wrote and that another call has changed since, or null. */
  #conflict(): string | null {
    if (this.#draft.patch.length === 0) return null;
    const since = this.#project.patchesSince(this.#base);
    return since === null
      ? "state"
      : (findStateConflict(since, this.#draft.reads, this.#draft.writes) ?? this.#outdated());
  }

  /** Returns a path that the admission read and that has changed since, or null. The next attempt is admitted anew. */
  #outdated(): string | null {
    if (this.#admittedOn === null) return null;
    const then = this.#project.versionAt(this.#admittedOn.version);
    const since = then && this.#project.patchesSince(then);
    if (since === null) return "state";
    const read = new Footprint();
    for (const path of this.#admittedOn.recorded) read.add(path);
    return findStateConflict(since, read, NO_FOOTPRINT);
  }

  #changeOf(patch: Patch): StateChange | null {
    return patch.length === 0 ? null : this.#project.makeChange(patch, this.#commit);
  }

  /** Applies the draft to the latest version. */
  #rebase(): RebasedChange {
    const { head } = this.#project;
    if (this.#rebased?.head === head) return this.#rebased;
    const { patch, fault: flaw } = this.#draft;
    // A draft in conflict is not applied: its call runs again.
    const whole = this.#conflict() === null ? this.#whole(this.#with(head, patch, flaw, false)) : { patch: [], flaw };
    const missing = whole.flaw ?? this.#missingEffect(whole.patch);
    const change = missing === whole.flaw ? whole : { patch: [], flaw: missing };
    this.#rebased = { head, change };
    return this.#rebased;
  }

  /** Checks the invariants of whole slices and policies on the rebased patch. */
  #whole({ patch, flaw }: CheckedPatch): CheckedPatch {
    const broken = flaw ?? findInvariantFault(this.#ports, this.#run, this.#project, patch);
    return broken === flaw ? { patch, flaw } : { patch: [], flaw: broken };
  }

  /** Returns a fault if a value is not what the plan expects after the call, or null. */
  #missingEffect(patch: Patch): Fault | null {
    if (!this.#succeeded || this.#checks.length === 0) return null;
    const state = applyPatch(this.#project.head.state, patch);
    const scope = { slices: this.#ports.slices, session: this.#session };
    for (const { state: place, value } of this.#checks) {
      const found = readStateValue(state, scope, place);
      if ("wrong" in found) return fault("STATE_INVALID", found.wrong);
      if (!sameJson(found.value, value)) return missingEffectFault(place, value, found.value);
    }
    return null;
  }

  /** Returns the patch, followed by the changes of the dispatched events. */
  #with(head: StateVersion, patch: Patch, flaw: Fault | null, failed: boolean): CheckedPatch {
    if (this.#dispatched.length === 0 || flaw !== null) return { patch, flaw };
    const ownEvents = failed ? [] : this.#dispatched.filter((change) => !isEndEvent(change));
    const own = this.#reduce(head, patch, ownEvents, (base) => this.#draftOf(base, true, this.#bounds));
    if (own.flaw !== null) return { patch: [], flaw: own.flaw };
    // A reducer that refuses the end of the call does not fail the call.
    const endEvents = this.#dispatched.filter(isEndEvent);
    const ended = this.#reduce(head, own.patch, endEvents, (base) => this.#draftOf(base, true, {}), failed);
    return { patch: ended.patch, flaw: null };
  }

  #reduce(
    head: StateVersion,
    patch: Patch,
    changes: readonly DispatchedChange[],
    makeDraft: (base: StateVersion) => Draft,
    onlyLogs = false,
  ): CheckedPatch {
    if (changes.length === 0) return { patch, flaw: null };
    const draft = makeDraft({ ...head, state: applyPatch(head.state, patch) });
    for (const change of changes) {
      try {
        if ("set" in change) setDraftValue(this.#ports.slices, change.set, (slice) => draft.slice(slice));
        else draft.dispatch(change.event, change.payload);
      } catch (error) {
        if (!(error instanceof FaultError)) throw error;
      }
    }
    return { patch: [...patch, ...(onlyLogs ? draft.logged : draft.patch)], flaw: draft.fault };
  }

  #draftOf({ state }: StateVersion, writes: boolean, bounds: Pick<DraftOptions, "declared" | "bounds">): Draft {
    return new Draft(state, { slices: this.#ports.slices, session: this.#session, writes, ...bounds });
  }
}

const NOTHING_TO_REVERT: RevertReport = { restored: 0, left: 0, places: [] };
const HISTORY_GONE = "the versions before the plan are no longer stored";

/** The state as a whole stays as it is. */
function leftWhole(why: string): RevertReport {
  return { restored: 0, left: 1, places: [{ path: "/", why }] };
}

const NO_FOOTPRINT = new Footprint();

function isEndEvent(change: DispatchedChange): boolean {
  return "event" in change && change.event === TOOL_INVOKED;
}

function missingEffectFault(place: string, expected: Json, found: Json | undefined): Fault {
  const is = found === undefined ? "has no value" : `is ${JSON.stringify(found)}`;
  return fault(
    "ASSERTION_FAILED",
    `state ${place} ${is} after the call, and the plan expects ${JSON.stringify(expected)}`,
  );
}

/** The change of an attempt, applied to one version. */
interface RebasedChange {
  readonly head: StateVersion;
  readonly change: CheckedPatch;
}

interface CheckedPatch {
  readonly patch: Patch;
  readonly flaw: Fault | null;
}
