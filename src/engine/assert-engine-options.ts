import type { VersionedGuard } from "../core/call/guard.ts";
import { nearestName } from "../core/json/nearest-name.ts";
import { isPlainObject } from "../core/json/plain-object.ts";
import type { Slice } from "../core/state/slice.ts";
import { isQueueName, queueNameRule } from "../core/store/select-fairly.ts";
import { modes } from "../core/values/effect.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import { isName } from "../core/values/is-name.ts";
import { toolProblems } from "./admin/tool-admin.ts";
import type { EngineOptions } from "./api/engine-api.ts";
import { defaultLimits } from "./api/engine-limits.ts";
import { limitSettingProblems } from "./api/limit-setting-problems.ts";
import type { Observer } from "./api/observer.ts";
import type { WorkerPorts } from "./worker/worker-ports.ts";

const knownOptions = [
  ..."store tools slices resources tenants budgets rates zone guards policies work worker strictPlans durability limits seed authenticate onNotice gateNotices observers".split(
    " ",
  ),
  ..."clock stopwatch timers dice newId failpoint".split(" "),
];
const durabilities = ["every", "power", "process"];

/** Checks the engine options, including unknown names. Throws CONFIG_INVALID with all reasons. */
export function assertEngineOptions(options: EngineOptions & Pick<WorkerPorts, "store">): void {
  const {
    store,
    tools = [],
    slices = [],
    resources = {},
    durability = "power",
    guards = [],
    policies = [],
    tenants = {},
    limits = {},
    worker = {},
    seed = "",
    gateNotices = false,
    observers = [],
  } = options;
  const reasons = [
    ...unknownFieldProblems(options, knownOptions, "option"),
    ...storeProblems(store),
    ...toolProblems(tools),
    ...sliceProblems(slices),
    ...problemUnless(
      isPlainObject(resources) && Object.values(resources).every(isResource),
      "resources must be an object of resources by name, such as { files: new HostFilesystem({ root }) }",
    ),
    ...problemUnless(
      haveUniqueNames(resources),
      "two resources have the same name; give each its own with the option name",
    ),
    ...problemUnless(typeof seed === "string" && seed.length <= 200, "seed must be a text of at most 200 characters"),
    ...problemUnless(
      options.authenticate === undefined || typeof options.authenticate === "function",
      "authenticate must be a function that returns the principal of a credential, or null",
    ),
    ...problemUnless(typeof gateNotices === "boolean", "gateNotices must be true or false"),
    ...problemUnless(durabilities.includes(durability), `durability must be one of ${durabilities.join(", ")}`),
    ...problemUnless(
      Array.isArray(guards) && guards.every(isVersionedGuard),
      "guards must be a list of { id, version, judge, state }; change the version whenever a guard judges differently",
    ),
    ...problemUnless(
      Array.isArray(observers) && observers.every(isObserver),
      "observers must be a list of { name, onEvent, aroundCall }, with at least one of the two functions",
    ),
    ...limitSettingProblems(options, ""),
    ...problemUnless(Array.isArray(policies), "policies must be a list of policies, as JSON"),
    ...tenantProblems(tenants),
    ...limitProblems(limits),
    ...workerProblems(worker),
  ];
  if (reasons.length > 0)
    throw new FaultError(fault("CONFIG_INVALID", `the engine was not opened: ${reasons.join("; ")}`, { reasons }));
}

function storeProblems(store: unknown): readonly string[] {
  if (typeof (store as { readonly append?: unknown } | null | undefined)?.append === "function") return [];
  if (store === undefined || store === null) return ['store is missing; pass one, such as sqlite("writ.db")'];
  const found = typeof store === "string" ? `the text ${JSON.stringify(store)}` : `of type ${typeof store}`;
  return [`store is ${found}, not a store; pass one, such as sqlite("writ.db")`];
}

function isVersionedGuard(guard: Partial<VersionedGuard> | null | undefined): boolean {
  return typeof guard?.judge === "function" && isName(guard.id) && isName(guard.version) && isState(guard.state);
}

/** The pointers are checked where they are parsed. */
function isState(state: unknown): boolean {
  return state === undefined || isPlainObject(state);
}

function isObserver(observer: Partial<Observer> | null | undefined): boolean {
  const functions = [observer?.onEvent, observer?.aroundCall].filter((given) => given !== undefined);
  return isName(observer?.name) && functions.length > 0 && functions.every((given) => typeof given === "function");
}

function isResource(resource: unknown): boolean {
  return typeof (resource as { readonly capture?: unknown } | null)?.capture === "function";
}

function haveUniqueNames(resources: unknown): boolean {
  const names = Object.values(resources ?? {}).map(
    (resource) => (resource as { readonly name?: unknown } | null)?.name,
  );
  return new Set(names).size === names.length;
}

function sliceProblems(slices: unknown): readonly string[] {
  if (!Array.isArray(slices) || slices.some((slice) => typeof slice?.entry?.parse !== "function"))
    return ["slices must be a list of slices made by defineSlice"];
  const names = slices.map(({ name }: Slice) => name);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  return problemUnless(twice.length === 0, `two slices have the name ${twice.join(", ")}; give each its own name`);
}

function tenantProblems(tenants: unknown): readonly string[] {
  if (!isPlainObject(tenants)) return ["tenants must be an object of settings by tenant"];
  return Object.entries(tenants).flatMap(([tenant, settings]) => {
    if (!isPlainObject(settings)) return [`tenant ${tenant} must have an object of settings`];
    const { mode, admin, trust = [], rules = "adopt", autoExecRoles = [] } = settings;
    return [
      ...unknownFieldProblems(
        settings,
        ["mode", "autoExecRoles", "admin", "trust", "rules", "budgets", "rates", "zone"],
        `setting of tenant ${tenant}`,
      ),
      ...limitSettingProblems(settings, `tenant ${tenant}: `),
      ...problemUnless(
        mode === undefined || modes.includes(mode as never),
        `mode of ${tenant} must be ${modes.join(", ")}`,
      ),
      ...problemUnless(admin === undefined || isName(admin), `admin of ${tenant} must be the name of a role`),
      ...problemUnless(
        Array.isArray(autoExecRoles) && autoExecRoles.every(isName),
        `autoExecRoles of ${tenant} must be a list of names of roles`,
      ),
      ...problemUnless(rules === "adopt" || rules === "pinned", `rules of ${tenant} must be adopt or pinned`),
      ...problemUnless(
        Array.isArray(trust) && trust.every((tool) => typeof tool === "string"),
        `trust of ${tenant} must be a list of tool names`,
      ),
    ];
  });
}

function workerProblems(terms: unknown): readonly string[] {
  if (!isPlainObject(terms)) return ["worker must be an object with queues, perQueue or perTenant"];
  const { queues = [], perQueue = {}, perTenant = 1 } = terms;
  const isLimit = (most: unknown) => Number.isSafeInteger(most) && Number(most) >= 1;
  const areNamed =
    Array.isArray(queues) && (terms.queues === undefined || queues.length > 0) && queues.every(isQueueName);
  const areLimits =
    isPlainObject(perQueue) && Object.entries(perQueue).every(([queue, most]) => isQueueName(queue) && isLimit(most));
  return [
    ...unknownFieldProblems(terms, ["queues", "perQueue", "perTenant"], "setting of worker"),
    ...problemUnless(areNamed, `queues of worker must be a list of names, each ${queueNameRule}`),
    ...problemUnless(
      areLimits,
      "perQueue of worker must be an object of queue names and numbers from 1: the runs of the queue that are leased at once",
    ),
    ...problemUnless(
      isLimit(perTenant),
      "perTenant of worker must be a number from 1: how many runs of one tenant are leased at once",
    ),
  ];
}

function limitProblems(limits: object): readonly string[] {
  const names = Object.keys(defaultLimits);
  const wrong = Object.entries(limits).filter(
    ([name, value]) => names.includes(name) && !(Number.isSafeInteger(value) && (value as number) >= 1),
  );
  return [
    ...unknownFieldProblems(limits, names, "limit"),
    ...wrong.map(([name]) => `the limit ${name} must be a whole number from 1`),
  ];
}

function unknownFieldProblems(given: object, names: readonly string[], what: string): readonly string[] {
  return Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const meant = nearestName(name, names);
      return meant === null ? `there is no ${what} ${name}` : `there is no ${what} ${name}; did you mean ${meant}?`;
    });
}

function problemUnless(right: boolean, problem: string): readonly string[] {
  return right ? [] : [problem];
}

/** True if policies or tools of the options may have conditions. */
export function hasConditions({ policies = [], tools = [] }: Pick<EngineOptions, "policies" | "tools">): boolean {
  return policies.length > 0 || tools.some(({ preconditions }) => preconditions.length > 0);
}
