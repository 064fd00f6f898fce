import { noticeRequirement, rulesRequirement } from "../core/run/worker-requirements.ts";
import { SliceFolds } from "../core/state/slice-fold.ts";
import type { WorkerId } from "../core/values/ids.ts";
import { lazyCel } from "../expression/lazy-cel.ts";
import { standardGuards } from "../policy/guards/standard-guards.ts";
import type { EngineOptions } from "./api/engine-api.ts";
import { defaultLimits } from "./api/engine-limits.ts";
import { ActsInFlight } from "./call/acts-in-flight.ts";
import { makeModelTool } from "./call/model-tool.ts";
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
import { readCaptureStatus } from "./resources/capture-status.ts";
import { ResourceRegistry } from "./resources/resource-registry.ts";
import { StoreHaltCache } from "./rules/halt-cache.ts";
import { PolicyRegistry, readEnginePolicies } from "./rules/policy-registry.ts";
import { rulesDigest } from "./rules/rules-digest.ts";
import { SettingsByTenant } from "./rules/settings-by-tenant.ts";
import { ProjectStates } from "./state/project-states.ts";
import { makeRevertTool, makeStateTools } from "./state/state-tools.ts";
import { DoubtStopwatch } from "./worker/doubt-stopwatch.ts";
import { WorkerLeases } from "./worker/worker-leases.ts";
import type { WorkerPorts } from "./worker/worker-ports.ts";

/** Makes the services of an engine from its options. */
export function makePorts(options: EngineOptions & Pick<WorkerPorts, "store">, verbs: () => VerbPort): WorkerPorts {
  const { store, timers = systemTimers, dice = systemRandom, newId = systemIds, clock = store.clock } = options;
  const worker = newId("wrk", clock.now()) as WorkerId;
  const { tools = [], slices = [] } = options;
  // With timers of the caller, time is the clock of the caller.
  const stopwatch = options.stopwatch ?? (options.timers === undefined ? systemStopwatch : () => clock.now());
  const verbTools = [makeModelTool(), ...makeVerbTools(), ...(slices.length === 0 ? [] : [makeRevertTool(slices)])];
  const toolbox = new ToolRegistry(tools, lazyCel, { state: makeStateTools(slices), verbs: verbTools });
  const policies = new PolicyRegistry(readEnginePolicies(options.policies ?? [], lazyCel), { store, clock }, lazyCel);
  const onNotice = options.onNotice ?? null;
  const limits = { ...defaultLimits, ...options.limits };
  const digest = rulesDigest(options);
  const always = [...(onNotice === null ? [] : [noticeRequirement]), rulesRequirement(digest)];
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
    doubtTimes: new DoubtStopwatch(clock, stopwatch),
    actsInFlight: new ActsInFlight(),
    offers,
    rulesDigest: digest,
    // With timers of the caller, time is the caller's, and so is the life of the process.
    keepAlive: options.timers === undefined ? keepProcessAlive : (awaited) => awaited,
    toolbox,
    verbs,
    tenants: new SettingsByTenant(options.tenants ?? {}, options),
    slices,
    projects: new ProjectStates(store, {
      folds: new SliceFolds(slices),
      every: limits.snapshotVersions,
      recent: limits.checkpoints,
    }),
    resources: new ResourceRegistry(options.resources ?? {}, (capture) => readCaptureStatus(store, capture)),
    rules: {
      guards: [...standardGuards, ...(options.guards ?? [])],
      policyFor: (run) => policies.of(run),
      conditionsOf: (tool) => toolbox.conditionsOf(tool),
    },
    policies,
    halts: new StoreHaltCache({ store, clock }),
    alerted: new Set(),
    durability: options.durability ?? "power",
    limits,
    failpoint: options.failpoint ?? (() => {}),
    onNotice,
    gateNotices: options.gateNotices ? { gate_notice: true } : {},
    observers: new Observers(options.observers ?? []),
  };
}
