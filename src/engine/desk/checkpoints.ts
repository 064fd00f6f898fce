import { closureFault } from "../../core/closure.ts";
import type { StateFact } from "../../core/command.ts";
import { type Fault, FaultError, fault } from "../../core/fault.ts";
import type { RunId, StepId, Tenant } from "../../core/id.ts";
import { findStep, type Run, type Step, stateKeyOf } from "../../core/run.ts";
import { type Difference, differences } from "../../core/state/difference.ts";
import type { Patch } from "../../core/state/patch.ts";
import { type RevertTerms, reverting } from "../../core/state/revert.ts";
import type { StateChange } from "../../core/state/state-change.ts";
import type { As, Checkpoints, Reasoned } from "../api.ts";
import type { Ports } from "../ports.ts";
import { assertName, principalOf } from "../principal.ts";
import { reasonOf } from "../reason.ts";
import { load } from "../record/load.ts";
import type { Holds } from "../watch/holds.ts";
import { tagOf } from "./capture-tag.ts";
import { brokenBy, openProject } from "./desk.ts";
import { withFilesBack } from "./gone-back.ts";
import { filesBetween } from "./moments.ts";
import { Pages } from "./past.ts";
import type { Project, Version } from "./projects.ts";
import type { CheckpointAt, CheckpointDiff, CheckpointView, StateOf } from "./state-api.ts";
import { assertUnbound, openState } from "./state-view.ts";

/** State and files before and after each call, for as far back as is kept. */
export class StateCheckpoints implements Omit<Checkpoints, "fork" | "load"> {
  readonly #ports: Ports;
  readonly #holds: Holds;

  constructor(ports: Ports, holds: Holds) {
    this.#ports = ports;
    this.#holds = holds;
  }

  async list({ principal, ...of }: As & StateOf): Promise<readonly CheckpointView[]> {
    const { tenant } = principalOf(principal);
    const { project } = await openState(this.#ports, tenant, of);
    const pages = new Pages(this.#ports.store, tenant);
    const views: CheckpointView[] = [];
    // A page ends where it is asked for.
    for (const version of kept(this.#ports, project).toReversed()) views.push(await this.#view(pages, version));
    return views.reverse();
  }

  async #view(pages: Pages, { version, point, patch }: Version): Promise<CheckpointView> {
    const event = point && (await pages.eventAt(point));
    if (point === null || event === null) throw notFound(`version ${version} of the state`);
    const call =
      "attempt" in event ? { step_id: event.step_id, attempt: event.attempt } : { step_id: null, attempt: null };
    const elapsed_ms = "started_at" in event ? event.at - event.started_at : 0;
    return {
      version,
      run_id: point.run_id,
      ...call,
      type: event.type,
      at: event.at,
      elapsed_ms,
      changes: patch.length,
    };
  }

  async restore(at: CheckpointAt, options: Reasoned & { readonly preserveLogs?: boolean }): Promise<number> {
    const principal = principalOf(options.principal);
    assertUnbound(principal);
    const reason = reasonOf(options);
    return atCheckpoint(this.#ports, principal.tenant, at, async (found) => {
      await assertOpen(this.#ports, found.run);
      const { slices, newId, clock, policies } = this.#ports;
      await policies.reading(principal.tenant);
      const commit = newId("cmt", clock.now());
      const broken = (patch: Patch) => brokenBy(this.#ports, found.run, found.project, patch);
      const state = new Reverting(found, commit, { slices, preserveLogs: options.preserveLogs ?? true, broken });
      if (state.flaw !== null) throw new FaultError(state.flaw);
      const { run, step, project, version } = found;
      const { tenant, id, position } = run;
      const tag = tagOf({ for: "restore", tenant, run_id: id, at: clock.now(), position, commit });
      const told = { type: "restore", principal, reason, to: version.version, state } as const;
      await withFilesBack(this.#ports, { run, step, side: at.side }, tag, (files) =>
        this.#holds.command(tenant, id, () => ({ ...told, now: clock.now(), files })),
      );
      return project.head.version;
    });
  }

  async diff(from: CheckpointAt, to: CheckpointAt, { principal }: As): Promise<CheckpointDiff> {
    const who = principalOf(principal);
    assertUnbound(who);
    const { tenant } = who;
    return atCheckpoint(this.#ports, tenant, from, (one) =>
      atCheckpoint(this.#ports, tenant, to, async (two) => {
        if (one.project !== two.project)
          throw new FaultError(
            fault("INVALID_INPUT", `${from.runId} and ${to.runId} work on different states; compare calls of one`),
          );
        const files = await filesBetween(this.#ports, { ...one, side: from.side }, { ...two, side: to.side });
        return { state: stateBetween(one, two), files };
      }),
    );
  }
}

function stateBetween({ project, version: one }: Found, { version: two }: Found): readonly Difference[] {
  const forward = one.version <= two.version;
  const [early, late] = forward ? [one, two] : [two, one];
  const between = (project.since(early) ?? []).slice(0, late.version - early.version);
  const found = differences(early.state, late.state, between);
  return forward ? found : found.map(backwards);
}

function backwards({ path, before, after }: Difference): Difference {
  return { path, ...(after !== undefined && { before: after }), ...(before !== undefined && { after: before }) };
}

interface RestoreTerms extends RevertTerms {
  /** Why state may not be so again. */
  readonly broken: (patch: Patch) => Fault | null;
}

/** What a restore would leave, read when it is judged. */
class Reverting implements Pick<StateFact, "change" | "flaw"> {
  readonly #project: Project;
  readonly #then: Version;
  readonly #commit: string;
  readonly #terms: RestoreTerms;

  constructor({ project, version }: Found, commit: string, terms: RestoreTerms) {
    this.#project = project;
    this.#then = version;
    this.#commit = commit;
    this.#terms = terms;
  }

  get flaw(): Fault | null {
    const reverted = this.#reverted();
    return reverted.ok ? this.#terms.broken(reverted.patch) : reverted.fault;
  }

  get change(): StateChange | null {
    const reverted = this.#reverted();
    return reverted.ok && reverted.patch.length > 0 ? this.#project.change(reverted.patch, this.#commit) : null;
  }

  #reverted(): ReturnType<typeof reverting> {
    const since = this.#project.since(this.#then);
    if (since === null) return { ok: false, fault: notFound("that version of the state").fault };
    return reverting(this.#project.head.state, this.#then.state, since, this.#terms);
  }
}

interface Found {
  readonly run: Run;
  readonly step: Step;
  readonly project: Project;
  readonly version: Version;
}

/** Works with the state before or after a call, if it is kept: as long as that takes, it is not forgotten. */
export async function atCheckpoint<Answer>(
  ports: Ports,
  tenant: Tenant,
  { runId, stepId, side }: CheckpointAt,
  work: (found: Found) => Promise<Answer>,
): Promise<Answer> {
  if (side !== "before" && side !== "after")
    throw new FaultError(fault("INVALID_INPUT", "a checkpoint is before or after a call; say side: before or after"));
  assertName(stepId, "stepId");
  const { run } = await load(ports.store, tenant, runId as RunId);
  const step = findStep(run, stepId as StepId);
  const checkpoint = step?.checkpoint ?? null;
  if (step === undefined || checkpoint === null) throw notFound(`${side} ${stepId} of run ${runId}`);
  ports.projects.doubt(tenant, stateKeyOf(run));
  const project = await openProject(ports, run);
  try {
    const version = project.at(checkpoint[side]);
    const oldest = kept(ports, project)[0]?.version ?? 1;
    if (version === null || version.version < oldest - 1) throw notFound(`${side} ${stepId} of run ${runId}`);
    return await work({ run, step, project, version });
  } finally {
    project.leave();
  }
}

/** The versions that can be gone back over: so many, and so many bytes of changes. The first of all is no change. */
function kept({ limits }: Ports, project: Project): readonly Version[] {
  const recent = project.recent(limits.checkpoints).filter(({ version }) => version > 0);
  let bytes = 0;
  const from = recent.findLastIndex(({ patch }) => {
    bytes += JSON.stringify(patch).length;
    return bytes > limits.checkpointBytes;
  });
  return recent.slice(from + 1);
}

/** Nobody goes back in a project that is closed. */
async function assertOpen({ halts }: Ports, run: Run): Promise<void> {
  await halts.readAnew(run);
  const flaw = closureFault(run.project ?? "", halts.of(run).closure);
  if (flaw !== null) throw new FaultError(flaw);
}

function notFound(what: string): FaultError {
  const message = `no state is kept from ${what}; list the checkpoints to see which there are`;
  return new FaultError(fault("CHECKPOINT_NOT_FOUND", message));
}
