import type { StateFact } from "../../core/decide/command.ts";
import type { Event } from "../../core/event/event.ts";
import { findStep, type Run, runStateKey, type Step } from "../../core/run/run.ts";
import { projectLockFault } from "../../core/settings/project-lock.ts";
import type { Patch } from "../../core/state/patch.ts";
import { type RevertOptions, revertPatch } from "../../core/state/revert-patch.ts";
import { diffStates, type StateDifference } from "../../core/state/state-difference.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, StepId, Tenant } from "../../core/values/ids.ts";
import type { CheckpointFilter, Checkpoints } from "../api/checkpoint-api.ts";
import type { PrincipalOptions, ReasonOptions } from "../api/engine-api.ts";
import { assertName, readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import type {
  CheckpointDiff,
  CheckpointRef,
  CheckpointRestore,
  CheckpointView,
  StateSelector,
} from "../api/state-api.ts";
import { findRequestExecution, requestField } from "../journal/find-request-execution.ts";
import type { JudgedRequest } from "../journal/judged-request.ts";
import { loadRun } from "../journal/load-run.ts";
import { makeCaptureTag } from "../resources/capture-owner.ts";
import { diffFiles } from "../resources/restore-points.ts";
import { restoreResourcesAt } from "../resources/restore-resources-at.ts";
import { findInvariantFault, openRunState } from "../state/attempt-state.ts";
import type { StateVersion, VersionedState } from "../state/project-states.ts";
import { parseSnapshotId } from "../state/snapshot-id.ts";
import { assertSeesAllState } from "../state/view-state.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { checkpointNotFound, listCheckpoints, restorableVersions } from "./list-checkpoints.ts";

/** Lists, restores and compares checkpoints: state and files before and after each call. */
export class CheckpointAdmin implements Pick<Checkpoints, "list" | "restore" | "diff"> {
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;

  constructor(ports: WorkerPorts, leasedRuns: LeasedRuns) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
  }

  async list({
    principal,
    ...of
  }: PrincipalOptions & StateSelector & CheckpointFilter): Promise<readonly CheckpointView[]> {
    return listCheckpoints(this.#ports, readPrincipal(principal), of);
  }

  async restore(
    given: CheckpointRef | string,
    options: ReasonOptions & JudgedRequest & { readonly preserveLogs?: boolean },
  ): Promise<CheckpointRestore> {
    const at = readMoment(given);
    const principal = readPrincipal(options.principal);
    assertSeesAllState(principal);
    const reason = readReason(options);
    const { store } = this.#ports;
    const earlier = await findRequestExecution<RestoreEvent>(store, principal.tenant, at.runId as RunId, options);
    if (earlier !== null) return toCheckpointRestore([earlier.event], earlier.event.to);
    return atCheckpoint(this.#ports, principal.tenant, at, async (found) => {
      await assertProjectOpen(this.#ports, found.run);
      const { slices, newId, clock, policies } = this.#ports;
      await policies.refreshIfStale(principal.tenant);
      const commit = newId("cmt", clock.now());
      const broken = (patch: Patch) => findInvariantFault(this.#ports, found.run, found.project, patch);
      const terms = { slices, preserveLogs: options.preserveLogs ?? true, broken };
      const restored = () => restoredState(found, commit, terms);
      const { fault: refusal } = restored();
      if (refusal !== null) throw new FaultError(refusal);
      const { run, step, project, version } = found;
      const { tenant, id, position } = run;
      const tag = makeCaptureTag({ for: "restore", tenant, run_id: id, at: clock.now(), position, commit });
      const { checks } = options;
      const judged = { ...requestField(options), ...(checks && { checks }) };
      const command = { type: "restore", principal, reason, to: version.version, ...judged } as const;
      const { events } = await restoreResourcesAt(this.#ports, { run, step, side: at.side }, tag, (files) =>
        this.#leasedRuns.command(tenant, id, () => ({ ...command, now: clock.now(), state: restored(), files })),
      );
      return toCheckpointRestore(events, project.head.version);
    });
  }

  async diff(
    early: CheckpointRef | string,
    late: CheckpointRef | string,
    { principal }: PrincipalOptions,
  ): Promise<CheckpointDiff> {
    const [from, to] = [readMoment(early), readMoment(late)];
    const who = readPrincipal(principal);
    assertSeesAllState(who);
    const { tenant } = who;
    return atCheckpoint(this.#ports, tenant, from, (one) =>
      atCheckpoint(this.#ports, tenant, to, async (two) => {
        if (one.project !== two.project)
          throw new FaultError(
            fault(
              "INVALID_INPUT",
              `${from.runId} and ${to.runId} use different states; compare calls on the same state`,
            ),
          );
        const files = await diffFiles(this.#ports, { ...one, side: from.side }, { ...two, side: to.side });
        return { state: diffVersions(one, two), files };
      }),
    );
  }
}

function readMoment(at: CheckpointRef | string): CheckpointRef {
  return typeof at === "string" ? parseSnapshotId(at) : at;
}

type RestoreEvent = Extract<Event, { type: "state.restored" }>;

/** Describes a restore by its event. Without an event, nothing had to change. */
function toCheckpointRestore(events: readonly Event[], latest: number): CheckpointRestore {
  const event = events.find(({ type }) => type === "state.restored");
  const { state, closings = [] } = event?.type === "state.restored" ? event : {};
  const files = { restored: 0, created: 0, removed: 0 };
  for (const { changed, added, removed } of closings) {
    files.restored += changed - added - removed;
    files.created += added;
    files.removed += removed;
  }
  return { version: state?.version ?? latest, changes: state?.patch.length ?? 0, files };
}

function diffVersions(
  { project, version: one }: CheckpointContext,
  { version: two }: CheckpointContext,
): readonly StateDifference[] {
  const forward = one.version <= two.version;
  const [early, late] = forward ? [one, two] : [two, one];
  const between = (project.patchesSince(early) ?? []).slice(0, late.version - early.version);
  const found = diffStates(early.state, late.state, between);
  return forward ? found : found.map(reverseDifference);
}

function reverseDifference({ path, before, after }: StateDifference): StateDifference {
  return { path, ...(after !== undefined && { before: after }), ...(before !== undefined && { after: before }) };
}

interface RestoreTerms extends RevertOptions {
  /** Returns the invariant that the restored state would break, or null. */
  readonly broken: (patch: Patch) => Fault | null;
}

/** Computes the change that restores a version, on the latest version. */
function restoredState(
  { project, version }: CheckpointContext,
  commit: string,
  terms: RestoreTerms,
): Pick<StateFact, "change" | "fault"> {
  const since = project.patchesSince(version);
  if (since === null) return { change: null, fault: checkpointNotFound("that version of the state").fault };
  const reverted = revertPatch(project.head.state, version.state, since, terms);
  if (!reverted.ok) return { change: null, fault: reverted.fault };
  const { patch } = reverted;
  const change = patch.length === 0 ? null : project.makeChange(patch, commit);
  return { change, fault: terms.broken(patch) };
}

export interface CheckpointContext {
  readonly run: Run;
  readonly step: Step;
  readonly project: VersionedState;
  readonly version: StateVersion;
}

/**
 * Runs `work` with the state before or after a call, which stays in memory meanwhile. Throws if it is not restorable.
 */
export async function atCheckpoint<Answer>(
  ports: WorkerPorts,
  tenant: Tenant,
  { runId, stepId, side }: CheckpointRef,
  work: (found: CheckpointContext) => Promise<Answer>,
): Promise<Answer> {
  if (side !== "before" && side !== "after")
    throw new FaultError(fault("INVALID_INPUT", "side must be before or after"));
  assertName(stepId, "stepId");
  const { run } = await loadRun(ports.store, tenant, runId as RunId);
  const step = findStep(run, stepId as StepId);
  const checkpoint = step?.checkpoint ?? null;
  if (step === undefined || checkpoint === null) throw checkpointNotFound(`${side} ${stepId} of run ${runId}`);
  ports.projects.markStale(tenant, runStateKey(run));
  const project = await openRunState(ports, run);
  try {
    // Without slices, every call has the same empty state.
    const number = checkpoint[side] ?? (ports.slices.length === 0 ? 0 : null);
    const version = number === null ? null : project.versionAt(number);
    const oldest = restorableVersions(ports, project)[0]?.version ?? 1;
    if (version === null || version.version < oldest - 1) throw checkpointNotFound(`${side} ${stepId} of run ${runId}`);
    return await work({ run, step, project, version });
  } finally {
    project.leave();
  }
}

/** Throws if the project of the run is closed. */
async function assertProjectOpen({ halts }: WorkerPorts, run: Run): Promise<void> {
  await halts.refresh(run);
  const flaw = projectLockFault(run.project ?? "", halts.of(run).closure);
  if (flaw !== null) throw new FaultError(flaw);
}
