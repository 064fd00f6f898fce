import { noticeRequirement, rulesRequirement } from "../core/run/worker-requirements.ts";
import type { Slice } from "../core/state/slice.ts";
import { SliceSums } from "../core/state/slice-sums.ts";
import type { WorkerId } from "../core/values/ids.ts";
import { lazyCel } from "../expression/lazy-cel.ts";
import { standardGuards } from "../policy/guards/standard-guards.ts";
import { userGuards } from "../policy/guards/user-guards.ts";
import type { EngineOptions } from "./api/engine-api.ts";
import { defaultLimits } from "./api/engine-limits.ts";
import { ActsInFlight } from "./call/acts-in-flight.ts";
import { EqualCallsInFlight } from "./call/equal-calls-in-flight.ts";
import { makeModelCallTool } from "./call/model-call-tool.ts";
import { makeRollbackTool } from "./call/rollback-tool.ts";
import { ToolRegistry } from "./call/tool-registry.ts";
import { makeVerbTools, type VerbPort } from "./call/verb-tools.ts";
import { Observers } from "./journal/observers.ts";
import {
  backgroundTimers,
  keepProcessAlive,
  systemEndOfTurn,
  systemIds,
  systemRandom,
  systemStopwatch,
  systemTimers,
} from "./ports/system-ports.ts";
import { readCaptureStatus } from "./resources/read-capture-status.ts";
import { ResourceRegistry } from "./resources/resource-registry.ts";
import { makeSnapshotTools } from "./resources/snapshot-tools.ts";
import { StoreHaltCache } from "./rules/halt-cache.ts";
import { PolicyRegistry, readEnginePolicies } from "./rules/policy-registry.ts";
import { rulesDigest } from "./rules/rules-digest.ts";
import { SettingsByTenant } from "./rules/settings-by-tenant.ts";
import { ProjectStates } from "./state/project-states.ts";
import { makeRevertTool, makeStateTools } from "./state/state-tools.ts";
import { DoubtTimeLeft } from "./worker/doubt-time-left.ts";
import { WorkerLeases } from "./worker/worker-leases.ts";
import type { WorkerPorts } from "./worker/worker-ports.ts";

function callsInFlight(): Pick<WorkerPorts, "actsInFlight" | "equalCalls"> {
  return { actsInFlight: new ActsInFlight(), equalCalls: new EqualCallsInFlight() };
}

/** Returns the tools of state, and those of the engine's own methods, which no plan can name. */
function makeBuiltInTools(slices: readonly Slice[], resources: NonNullable<EngineOptions["resources"]>) {
  const revert = slices.length === 0 ? [] : [makeRevertTool(slices)];
  const verbs = [
    makeModelCallTool(),
    makeRollbackTool(),
    ...makeVerbTools(),
    ...revert,
    ...makeSnapshotTools(slices, resources),
  ];
  return { state: makeStateTools(slices), verbs };
}

/** Makes the services of an engine from its options. */
export function makePorts(options: EngineOptions & Pick<WorkerPorts, "store">, verbs: () => VerbPort): WorkerPorts {
  const { store, timers = systemTimers, dice = systemRandom, newId = systemIds, clock = store.clock } = options;
  const worker = newId("wrk", clock.now()) as WorkerId;
  const { tools = [], slices = [], strictPlans = false } = options;
  // With timers of the caller, time is the clock of the caller.
  const stopwatch = options.stopwatch ?? (options.timers === undefined ? systemStopwatch : () => clock.now());
  const { resources = {} } = options;
  const toolbox = new ToolRegistry(tools, lazyCel, makeBuiltInTools(slices, resources));
  const policies = new PolicyRegistry(readEnginePolicies(options.policies ?? [], lazyCel), { store, clock }, lazyCel);
  const limits = { ...defaultLimits, ...options.limits };
  const guards = userGuards(options.guards ?? [], lazyCel);
  const digest = rulesDigest(options);
  const always = [...(options.onNotice ? [noticeRequirement] : []), rulesRequirement(digest)];
  const offers = () => [...always, ...toolbox.needs()];
  const terms = { ...options.worker, rules: digest, offers: offers() };
  return {
    store,
    clock,
    timers,
    loopTimers: options.timers ?? backgroundTimers,
    endOfTurn: options.timers?.endOfTurn ?? systemEndOfTurn,
    dice,
    seed: options.seed ?? "",
    newId,
    leases: new WorkerLeases(store, worker, stopwatch, terms),
    stopwatch,
    doubtTimes: new DoubtTimeLeft(clock, stopwatch),
    ...callsInFlight(),
    offers,
    rulesDigest: digest,
    // With timers of the caller, time is the caller's, and so is the life of the process.
    keepAlive: options.timers === undefined ? keepProcessAlive : (awaited) => awaited,
    toolbox,
    verbs,
    tenants: new SettingsByTenant(options.tenants ?? {}, options),
    slices,
    projects: new ProjectStates(store, {
      folds: new SliceSums(slices),
      every: limits.snapshotVersions,
      recent: limits.checkpoints,
    }),
    resources: new ResourceRegistry(resources, (capture) => readCaptureStatus(store, capture)),
    rules: {
      guards: [...standardGuards, ...guards],
      guardPointers: guards.flatMap(({ pointers }) => pointers),
      policyFor: (run) => policies.of(run),
      conditionsOf: (tool) => toolbox.conditionsOf(tool),
    },
    policies,
    halts: new StoreHaltCache({ store, clock }),
    alerted: new Set(),
    durability: options.durability ?? "power",
    limits,
    strictPlans,
    failpoint: options.failpoint ?? (() => {}),
    onNotice: options.onNotice ?? null,
    gateNotices: options.gateNotices ? { gate_notice: true } : {},
    observers: new Observers(options.observers ?? []),
  };
}
