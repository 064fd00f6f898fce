import { modes } from "../core/effect.ts";
import { FaultError, fault } from "../core/fault.ts";
import { nearest } from "../core/json/nearest.ts";
import { isPlainObject } from "../core/json/plain-object.ts";
import type { Slice } from "../core/state/slice.ts";
import { isQueue, queueRule } from "../core/turns.ts";
import type { EngineOptions } from "./api.ts";
import { defaultLimits, type Ports } from "./ports.ts";
import { allowanceProblems } from "./rules/allowance-problems.ts";

const known = [
  ..."store tools slices resources tenants budgets rates zone guards policies work worker strictPlans durability limits seed onNotice".split(
    " ",
  ),
  ..."clock stopwatch timers dice newId failpoint".split(" "),
];
const durabilities = ["every", "power", "process"];

/** Refuses settings that would silently mean something else than they say. Every reason at once. */
export function assertOptions(options: EngineOptions & Pick<Ports, "store">): void {
  const {
    store,
    tools,
    slices = [],
    resources = {},
    durability = "power",
    guards = [],
    policies = [],
    tenants = {},
    limits = {},
    worker = {},
    seed = "",
  } = options;
  const reasons = [
    ...unknown(options, known, "option"),
    ...unless(typeof store?.append === "function", 'store is missing; pass one, such as sqlite("writ.db")'),
    ...unless(Array.isArray(tools), "tools must be a list of tools made by defineTool"),
    ...sliceProblems(slices),
    ...unless(
      isPlainObject(resources) && Object.values(resources).every(isResource),
      "resources must be an object of resources by name, such as { files: new HostFilesystem({ root }) }",
    ),
    ...unless(haveNamesOfTheirOwn(resources), "two resources have one name; give each its own, with the option name"),
    ...unless(typeof seed === "string" && seed.length <= 200, "seed must be a text of at most 200 characters"),
    ...unless(durabilities.includes(durability), `durability must be one of ${durabilities.join(", ")}`),
    ...unless(
      Array.isArray(guards) && guards.every((guard) => typeof guard?.judge === "function"),
      "guards must be a list of { id, judge }",
    ),
    ...allowanceProblems(options, ""),
    ...unless(Array.isArray(policies), "policies must be a list of policies, as JSON"),
    ...tenantProblems(tenants),
    ...limitProblems(limits),
    ...termProblems(worker),
  ];
  if (reasons.length > 0)
    throw new FaultError(fault("CONFIG_INVALID", `the engine was not opened: ${reasons.join("; ")}`, { reasons }));
}

function isResource(resource: unknown): boolean {
  return typeof (resource as { readonly capture?: unknown } | null)?.capture === "function";
}

function haveNamesOfTheirOwn(resources: unknown): boolean {
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
  return unless(twice.length === 0, `two slices are called ${twice.join(", ")}; give each its own name`);
}

/** A mode that nobody knows must not pass for one that forbids nothing, nor a text for a list of tools. */
function tenantProblems(tenants: unknown): readonly string[] {
  if (!isPlainObject(tenants)) return ["tenants must be an object of settings by tenant"];
  return Object.entries(tenants).flatMap(([tenant, settings]) => {
    if (!isPlainObject(settings)) return [`tenant ${tenant} must have an object of settings`];
    const { mode, trust = [] } = settings;
    return [
      ...unknown(settings, ["mode", "trust", "budgets", "rates", "zone"], `setting of tenant ${tenant}`),
      ...allowanceProblems(settings, `tenant ${tenant}: `),
      ...unless(mode === undefined || modes.includes(mode as never), `mode of ${tenant} must be ${modes.join(", ")}`),
      ...unless(
        Array.isArray(trust) && trust.every((tool) => typeof tool === "string"),
        `trust of ${tenant} must be a list of tool names`,
      ),
    ];
  });
}

/** A queue that nobody fills would be served for ever, and a limit of none would never end. */
function termProblems(terms: unknown): readonly string[] {
  if (!isPlainObject(terms)) return ["worker must be an object with queues, perQueue or perTenant"];
  const { queues = [], perQueue = {}, perTenant = 1 } = terms;
  const isLimit = (most: unknown) => Number.isSafeInteger(most) && Number(most) >= 1;
  const areNamed = Array.isArray(queues) && (terms.queues === undefined || queues.length > 0) && queues.every(isQueue);
  const areLimits =
    isPlainObject(perQueue) && Object.entries(perQueue).every(([queue, most]) => isQueue(queue) && isLimit(most));
  return [
    ...unknown(terms, ["queues", "perQueue", "perTenant"], "setting of worker"),
    ...unless(areNamed, `queues of worker must be a list of names, each ${queueRule}`),
    ...unless(areLimits, "perQueue of worker must give each queue how many of its runs are held at once, 1 or more"),
    ...unless(
      isLimit(perTenant),
      "perTenant of worker must be how many runs of one tenant are held at once, 1 or more",
    ),
  ];
}

function limitProblems(limits: object): readonly string[] {
  const names = Object.keys(defaultLimits);
  const wrong = Object.entries(limits).filter(
    ([name, value]) => names.includes(name) && !(Number.isSafeInteger(value) && (value as number) >= 1),
  );
  return [
    ...unknown(limits, names, "limit"),
    ...wrong.map(([name]) => `the limit ${name} must be a whole number from 1`),
  ];
}

function unknown(given: object, names: readonly string[], what: string): readonly string[] {
  return Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const meant = nearest(name, names);
      return meant === null ? `there is no ${what} ${name}` : `there is no ${what} ${name}; did you mean ${meant}?`;
    });
}

function unless(right: boolean, problem: string): readonly string[] {
  return right ? [] : [problem];
}
