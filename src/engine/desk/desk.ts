import type { Ending, StateFact } from "../../core/command.ts";
import { type Effect, worst } from "../../core/effect.ts";
import { type Fault, FaultError, fault } from "../../core/fault.ts";
import type { Json } from "../../core/json/json.ts";
import { stateBounds } from "../../core/principal.ts";
import { type Run, type Step, stateKeyOf } from "../../core/run.ts";
import { Aftermath } from "../../core/state/aftermath.ts";
import { Draft, type DraftTerms } from "../../core/state/draft.ts";
import { Footprint, type Patch, quarrel } from "../../core/state/patch.ts";
import { patched } from "../../core/state/project-state.ts";
import type { Slice } from "../../core/state/slice.ts";
import type { StateChange } from "../../core/state/state-change.ts";
import type { Touches } from "../../core/state/state-order.ts";
import type { StateSeen } from "../../core/state/state-seen.ts";
import type { Ports } from "../ports.ts";
import { written } from "../road/keep.ts";
import type { Project, Version } from "./projects.ts";

/** The state that a run works on. */
export function openProject({ projects }: Ports, run: Run): Promise<Project> {
  return projects.open(run.tenant, stateKeyOf(run), run.forked?.state ?? null);
}

/** What slices and policies say that has to hold of state, whoever changes it. Null: it would. */
export function brokenBy({ policies, slices }: Ports, run: Run, project: Project, patch: Patch): Fault | null {
  if (patch.length === 0) return null;
  const aftermath = () => new Aftermath(project.head.state, patch, { slices, session: run.session ?? "" });
  return project.flawIn(patch) ?? policies.of(run)?.broken(aftermath) ?? null;
}

/** What the call at a desk may do. */
interface DeskTerms {
  readonly effect: Effect;
  readonly declared: Touches;
  readonly seen: StateSeen | null;
}

function termsOf({ toolbox }: Ports, { spec }: Step): Omit<DeskTerms, "seen"> {
  const tool = toolbox.get(spec.name);
  const declared = {
    state_reads: spec.state_reads ?? tool?.stateReads ?? null,
    state_writes: spec.state_writes ?? tool?.stateWrites ?? null,
  };
  return { effect: worst(spec.effect, tool?.effect ?? "acts"), declared };
}

/** Something that a call wants state to hear of. */
interface Told {
  readonly event: string;
  readonly payload: Json;
}

/** What state is told of every call that has ended, if a slice wants to hear it. */
const INVOKED = "tool.invoked";

/**
 * What one attempt works on: a draft of its project's state, private until its call has ended well. As a fact it is read when the
 * end is judged, so that it speaks of the state as that is then, though others may have come first.
 */
export class Desk implements StateFact {
  readonly #ports: Ports;
  readonly #project: Project;
  readonly #base: Version;
  readonly #draft: Draft;
  readonly #effect: Effect;
  readonly #bounds: Pick<DraftTerms, "declared" | "bounds">;
  readonly #session: string;
  readonly #run: Run;
  readonly #seen: StateSeen | null;
  readonly #commit: string;
  /** Of an act, and of how the call ended: applied to the state as it is when the call's end is judged. */
  readonly #told: Told[] = [];
  #made: Outlook | null = null;

  constructor(ports: Ports, project: Project, run: Run, { effect, declared, seen }: DeskTerms) {
    this.#ports = ports;
    this.#run = run;
    this.#seen = seen;
    this.#project = project;
    this.#base = project.head;
    this.#effect = effect;
    this.#session = run.session ?? "";
    this.#bounds = { declared, bounds: stateBounds(run.principal) };
    this.#draft = this.#draftOf(this.#base, effect === "writes", this.#bounds);
    this.#commit = ports.newId("cmt", ports.clock.now());
  }

  /** `seen`: what letting the call pass stood on. */
  static async open(ports: Ports, run: Run, step: Step, seen: StateSeen | null = null): Promise<Desk> {
    return new Desk(ports, await openProject(ports, run), run, { ...termsOf(ports, step), seen });
  }

  slice(slice: Slice): ReturnType<Draft["slice"]> {
    return this.#draft.slice(slice);
  }

  dispatch(event: string, given: Json): void {
    const payload = written(given);
    if (payload === undefined)
      throw this.#draft.refused(fault("STATE_INVALID", `what is dispatched as ${event} cannot be written down`));
    if (this.#effect === "writes") this.#draft.dispatch(event, payload);
    else if (this.#effect === "acts") this.#told.push({ event, payload });
    else throw this.#draft.refused(this.#unwritable());
  }

  #unwritable(): Fault {
    const message = `a tool that ${this.#effect === "pure" ? "is pure" : "reads"} changes nothing; give it another effect`;
    return fault("STATE_FORBIDDEN", message);
  }

  /** The call is over: what its handler does from now on is no part of it. */
  close(ending: Ending, about: { readonly tool: string; readonly step_id: string; readonly attempt: number }): void {
    this.#draft.close();
    if (!this.#ports.slices.some(({ reducers }) => Object.hasOwn(reducers, INVOKED))) return;
    const why = ending.how === "value" ? (ending.flaw ?? this.#draft.flaw) : ending.fault;
    this.#told.push({ event: INVOKED, payload: { ...about, success: why === null, fault: why && { ...why } } });
  }

  /** Nobody asks it any more, and what its handler still does is no part of anything. */
  leave(): void {
    this.#draft.close();
    this.#project.leave();
  }

  /** Whether what the call answered may depend on state. */
  get hasRead(): boolean {
    return this.#draft.reads.size > 0;
  }

  get base(): number {
    return this.#base.version;
  }

  get written(): Patch {
    return this.#draft.patch;
  }

  /** What it was read from, and where. */
  get footing(): { readonly base: Version; readonly key: string; readonly places: Iterable<string> } {
    return { base: this.#base, key: this.#project.key, places: this.#draft.reads.places };
  }

  get flaw(): Fault | null {
    return this.#now().change.flaw;
  }

  get change(): StateChange | null {
    return this.#changeOf(this.#now().change.patch);
  }

  get logged(): StateChange | null {
    const { head } = this.#project;
    return this.#changeOf(this.#whole(this.#with(head, this.#loggedOn(head), null, true)).patch);
  }

  /** What was said to logs was said, whatever they had become by then: how this call found them is not said with it. */
  #loggedOn(head: Version): Patch {
    const { logged } = this.#draft;
    if (head === this.#base || logged.length === 0) return logged;
    const again = this.#draftOf(head, true, {});
    for (const change of logged) if (change.op === "append") again.append(change);
    return again.patch;
  }

  get quarrel(): string | null {
    if (this.#draft.patch.length === 0) return null;
    const since = this.#project.since(this.#base);
    return since === null ? "state" : (quarrel(since, this.#draft.reads, this.#draft.writes) ?? this.#outdated());
  }

  /** Where what let the call pass has changed since: it is judged again with the next attempt. */
  #outdated(): string | null {
    if (this.#seen === null) return null;
    const then = this.#project.at(this.#seen.version);
    const since = then && this.#project.since(then);
    if (since === null) return "state";
    const stood = new Footprint();
    for (const place of this.#seen.recorded) stood.add(place);
    return quarrel(since, stood, NO_FOOTPRINT);
  }

  #changeOf(patch: Patch): StateChange | null {
    return patch.length === 0 ? null : this.#project.change(patch, this.#commit);
  }

  /** What comes of it on top of the state as it is now. */
  #now(): Outlook {
    const { head } = this.#project;
    if (this.#made?.head === head) return this.#made;
    const { patch, flaw } = this.#draft;
    // What others are in the way of is laid on nothing: it is run again.
    const change = this.quarrel === null ? this.#whole(this.#with(head, patch, flaw, false)) : { patch: [], flaw };
    this.#made = { head, change };
    return this.#made;
  }

  /** What holds of each entry may not hold of all of them, nor beside what others have published meanwhile. */
  #whole({ patch, flaw }: Made): Made {
    const broken = flaw ?? brokenBy(this.#ports, this.#run, this.#project, patch);
    return broken === flaw ? { patch, flaw } : { patch: [], flaw: broken };
  }

  /** A patch, and behind it what state is told at the end. */
  #with(head: Version, patch: Patch, flaw: Fault | null, failed: boolean): Made {
    if (this.#told.length === 0 || flaw !== null) return { patch, flaw };
    const said = failed ? [] : this.#told.filter(({ event }) => event !== INVOKED);
    const made = this.#dispatched(head, patch, said, (to) => this.#draftOf(to, true, this.#bounds));
    if (made.flaw !== null) return { patch: [], flaw: made.flaw };
    // That a record of the call could not be kept is no reason to take it back, nor is it the call's own doing.
    const record = this.#told.filter(({ event }) => event === INVOKED);
    const kept = this.#dispatched(head, made.patch, record, (to) => this.#draftOf(to, true, {}), failed);
    return { patch: kept.patch, flaw: null };
  }

  #dispatched(
    head: Version,
    patch: Patch,
    said: readonly Told[],
    draftOf: (on: Version) => Draft,
    onlyLogs = false,
  ): Made {
    if (said.length === 0) return { patch, flaw: null };
    const draft = draftOf({ ...head, state: patched(head.state, patch) });
    for (const { event, payload } of said) {
      try {
        draft.dispatch(event, payload);
      } catch (error) {
        if (!(error instanceof FaultError)) throw error;
      }
    }
    return { patch: [...patch, ...(onlyLogs ? draft.logged : draft.patch)], flaw: draft.flaw };
  }

  #draftOf({ state }: Version, writes: boolean, bounds: Pick<DraftTerms, "declared" | "bounds">): Draft {
    return new Draft(state, { slices: this.#ports.slices, session: this.#session, writes, ...bounds });
  }
}

const NO_FOOTPRINT = new Footprint();

/** What comes of a call on top of one version. */
interface Outlook {
  readonly head: Version;
  readonly change: Made;
}

interface Made {
  readonly patch: Patch;
  readonly flaw: Fault | null;
}
