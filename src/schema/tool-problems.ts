import { parsePointer, pointerTo } from "../core/json/json-pointer.ts";
import { nearestName } from "../core/json/nearest-name.ts";
import { isPlainObject } from "../core/json/plain-object.ts";
import { estimateProblems } from "../core/limits/budget.ts";
import { planLimits } from "../core/plan/plan.ts";
import type { Access } from "../core/ports/resource.ts";
import { isStatePointer, STATE_POINTERS_MAX } from "../core/state/state-access-order.ts";
import { askedDataProblems } from "../core/tool/asked-data.ts";
import { toolDefaults } from "../core/tool/tool-defaults.ts";
import { effects } from "../core/values/effect.ts";
import { isName, nameRule } from "../core/values/is-name.ts";
import { isJsonObject, type Json } from "../core/values/json.ts";
import { type TextForm, textForms } from "../core/values/normalize-text.ts";

/** A definition whose types are not checked: its author may not use TypeScript. */
type UncheckedDefinition = Readonly<Record<string, unknown>>;

const commonFields = [
  ..."name version effect description tags risk roles confirmation asksFor preconditions input output identity".split(
    " ",
  ),
  ..."timeoutMs asks heartbeatMs tries retry cache cacheTtlMs cacheShare cost resources stateReads stateWrites redact run".split(
    " ",
  ),
];
const actFields =
  "settleAfter confirm idempotent errorsMean onDuplicate safeIfAbsent abort preview verify verifyChange compensate".split(
    " ",
  );
const knownFields = [...commonFields, ...actFields];

const dayMs = 24 * 60 * 60 * 1000;
const tagsMax = 32;

/** Returns all problems of a definition, each with a fix. */
export function findToolProblems(
  unchecked: object,
  schemas: { readonly input: Json; readonly output: Json },
): readonly string[] {
  const definition = unchecked as UncheckedDefinition;
  return [
    ...unknownFields(definition),
    ...nameProblems(definition),
    ...choiceProblems(definition),
    ...numberProblems(definition),
    ...functionProblems(definition),
    ...conditionProblems(definition),
    ...fieldListProblems(definition, schemas),
    ...(typeof definition.cost === "function" ? [] : estimateProblems(definition.cost ?? {})),
    ...resourceProblems(definition),
    ...stateProblems(definition),
    ...askProblems(definition),
    ...contradictions(definition),
    ...externalProblems(definition),
  ];
}

const accessKinds: readonly unknown[] = ["handle", "raw", "watched"] satisfies readonly Access[];

/** Only tools with the effect `writes` may change resources: an act cannot be undone by restoring its resources. */
function resourceProblems({ resources = {}, effect }: UncheckedDefinition): readonly string[] {
  const isValid = isPlainObject(resources) && Object.values(resources).every((access) => accessKinds.includes(access));
  if (!isValid) return ['resources must be "handle", "raw" or "watched" for each resource that the tool changes'];
  const used = Object.keys(resources as object).length > 0;
  return problemUnless(!used || effect === "writes", "resources are only for tools with the effect writes");
}

function stateProblems({ stateReads = [], stateWrites, effect }: UncheckedDefinition): readonly string[] {
  const invalid = Object.entries({ stateReads, stateWrites: stateWrites ?? [] }).filter(
    ([, pointers]) => !areStatePointers(pointers),
  );
  const writes = effect === "writes" || effect === "acts" || stateWrites === undefined;
  return [
    ...invalid.map(
      ([field]) =>
        `${field} must be at most ${STATE_POINTERS_MAX} slices by name, or JSON pointers such as /beds/north`,
    ),
    ...problemUnless(
      writes,
      `stateWrites is only for the effects writes and acts; this tool has the effect ${String(effect)}`,
    ),
  ];
}

function askProblems({ asksFor = {} }: UncheckedDefinition): readonly string[] {
  if (!isPlainObject(asksFor)) return ["asksFor must say in words what is asked for, by the field of the input"];
  const asked = Object.entries(asksFor).map(([field, what]) => [
    field.startsWith("/") ? field : pointerTo("", field),
    what,
  ]);
  return askedDataProblems(Object.fromEntries(asked)).map((problem) => `asksFor: ${problem}`);
}

function areStatePointers(value: unknown): boolean {
  const isPointer = (item: unknown) =>
    typeof item === "string" && isStatePointer(item.startsWith("/") ? item : pointerTo("", item));
  return Array.isArray(value) && value.length <= STATE_POINTERS_MAX && value.every(isPointer);
}

function unknownFields(definition: UncheckedDefinition): readonly string[] {
  return Object.keys(definition)
    .filter((field) => !knownFields.includes(field))
    .map((field) => {
      const suggestion = nearestName(field, knownFields);
      return suggestion === null
        ? `${field} is not a field of a tool; remove it`
        : `${field} is not a field; did you mean ${suggestion}?`;
    });
}

function nameProblems({
  name,
  version = "1",
  description = "",
  tags = [],
  roles = [],
}: UncheckedDefinition): readonly string[] {
  const areTags = Array.isArray(tags) && tags.length <= tagsMax && tags.every((tag) => matches(tag, /^[\w.:-]{1,64}$/));
  return [
    ...problemUnless(
      matches(name, /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/),
      "name must be a letter and then up to 63 letters, digits, dots, dashes or underscores",
    ),
    ...problemUnless(
      matches(version, /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$/),
      'version must be a short text of letters, digits, dots, dashes, such as "1"',
    ),
    ...problemUnless(typeof description === "string", "description must be a text"),
    ...problemUnless(
      Array.isArray(roles) && roles.length <= tagsMax && roles.every(isName),
      `roles must be at most ${tagsMax} names of ${nameRule}`,
    ),
    ...problemUnless(
      areTags,
      `tags must be at most ${tagsMax} words of letters, digits, dots, colons, dashes or underscores`,
    ),
  ];
}

const allowedChoices: Readonly<Record<string, readonly unknown[]>> = {
  effect: effects,
  risk: ["low", "medium", "high"],
  asks: ["model"],
  retry: ["named", "any"],
  cache: ["never", "use_if_safe", "ttl_only"],
  cacheShare: ["principal", "tenant"],
  confirm: ["none", "strict", "warn", "gate"],
  errorsMean: ["unknown", "not_done"],
  onDuplicate: ["hold", "reuse", "refuse"],
  safeIfAbsent: [true, false],
  abort: ["never", "safe"],
  confirmation: [true, false],
};

function choiceProblems(definition: UncheckedDefinition): readonly string[] {
  return Object.entries(allowedChoices)
    .filter(
      ([field, values]) =>
        (definition[field] !== undefined || field === "effect") && !values.includes(definition[field]),
    )
    .map(([field, values]) => `${field} must be one of ${values.join(", ")}`);
}

const numberRanges: Readonly<Record<string, { readonly min: number; readonly max: number }>> = {
  timeoutMs: { min: 1, max: planLimits.timeoutMs },
  heartbeatMs: { min: 1, max: planLimits.timeoutMs },
  tries: { min: 1, max: planLimits.retries + 1 },
  cacheTtlMs: { min: 1, max: 366 * dayMs },
  settleAfter: { min: 0, max: 30 * dayMs },
};

function numberProblems(definition: UncheckedDefinition): readonly string[] {
  return Object.entries(numberRanges)
    .filter(([field, range]) => definition[field] !== undefined && !isWithin(definition[field], range))
    .map(([field, { min, max }]) => `${field} must be a whole number from ${min} to ${max}`);
}

/** Checks only the form. The engine parses the expressions and the pointers into state. */
function conditionProblems({ preconditions = [] }: UncheckedDefinition): readonly string[] {
  const isCondition = (each: unknown) =>
    isPlainObject(each) &&
    Object.keys(each).every((key) => ["id", "expression", "state"].includes(key)) &&
    matches(each.id, /^[A-Za-z0-9][\w.-]{0,63}$/) &&
    typeof each.expression === "string" &&
    (each.state === undefined || isPlainObject(each.state));
  return problemUnless(
    Array.isArray(preconditions) && preconditions.length <= tagsMax && preconditions.every(isCondition),
    `preconditions must be at most ${tagsMax} of { id, expression, state }`,
  );
}

function functionProblems(definition: UncheckedDefinition): readonly string[] {
  return ["run", "preview", "verify", "verifyChange", "compensate"]
    .filter((field) => typeof definition[field] !== "function" && (definition[field] !== undefined || field === "run"))
    .filter((field) => field !== "run" || definition.run !== "external")
    .map((field) => `${field} must be a function${field === "run" ? ', or "external" if a host does the work' : ""}`);
}

/** The engine calls no handler of such a tool, so it cannot repeat, watch or restore anything. */
function externalProblems(definition: UncheckedDefinition): readonly string[] {
  if (definition.run !== "external") return [];
  return ["resources", "stateReads", "stateWrites", "heartbeatMs", "idempotent", "tries", "retry"]
    .filter((field) => definition[field] !== undefined)
    .map((field) => `${field} needs a handler, and run is "external"; remove it`);
}

function fieldListProblems(
  definition: UncheckedDefinition,
  schemas: { readonly input: Json; readonly output: Json },
): readonly string[] {
  return [
    ...normalizeProblems(definition),
    ...problemsOfFieldList("identity", identityFieldNames(definition), schemas.input),
    ...problemsOfFieldList("redact", definition.redact, schemas.output),
  ];
}

function normalizeProblems({ identity }: UncheckedDefinition): readonly string[] {
  if (!Array.isArray(identity)) return [];
  const isField = (each: unknown) =>
    !isPlainObject(each) ||
    (Object.keys(each).sort().join() === "field,normalize" && textForms.includes(each.normalize as TextForm));
  return problemUnless(
    identity.every(isField),
    `identity must be names of fields, or { field, normalize } with one of ${textForms.join(", ")}`,
  );
}

/** Returns the identity with the field of each object in its place. */
function identityFieldNames({ identity }: UncheckedDefinition): unknown {
  return Array.isArray(identity)
    ? identity.map((each: unknown) => (isPlainObject(each) ? each.field : each))
    : identity;
}

function problemsOfFieldList(option: "identity" | "redact", list: unknown, schema: Json): readonly string[] {
  if (list === undefined) return [];
  if (!Array.isArray(list) || list.length === 0) return [`${option} must name at least one field; omit it for none`];
  return list.flatMap((field: unknown) => {
    const token = typeof field === "string" ? firstToken(field) : null;
    if (token === null) return [`${option} must be names of fields or JSON pointers; ${String(field)} is neither`];
    return hasField(schema, token) ? [] : [`${option} names ${token}, which the schema does not have`];
  });
}

function firstToken(field: string): string | null {
  const token = field.startsWith("/") ? parsePointer(field)?.[0] : field;
  return token === undefined || token === "" ? null : token;
}

/** Returns true for a schema that does not list its fields. */
function hasField(schema: Json, name: string): boolean {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties) || schema.patternProperties !== undefined) return true;
  return Object.hasOwn(schema.properties, name);
}

function contradictions(definition: UncheckedDefinition): readonly string[] {
  const {
    effect,
    cache = "never",
    cacheTtlMs,
    confirm = "none",
    verify,
    compensate,
    safeIfAbsent = false,
  } = definition;
  const { asks, timeoutMs = defaultTimeoutMs(asks), heartbeatMs, retry, errorsMean } = definition;
  const isNoAct = effects.includes(effect as never) && effect !== "acts";
  const changesResources = Object.keys(definition.resources ?? {}).length > 0;
  return [
    ...actFields
      .filter((field) => isNoAct && definition[field] !== undefined && !(field === "preview" && changesResources))
      .map((field) => `${field} is only for acts, and this tool has the effect ${String(effect)}; remove it`),
    ...problemUnless(
      isShorter(heartbeatMs, timeoutMs),
      "heartbeatMs must be shorter than timeoutMs, or it has no effect",
    ),
    ...problemUnless(
      asks !== "model" || effect !== "pure",
      "a tool that asks a model is not pure; its effect is reads",
    ),
    ...problemUnless(
      effect !== "acts" || retry !== "any" || errorsMean === "not_done",
      'retry any would repeat an act that may have happened; it needs errorsMean: "not_done"',
    ),
    ...problemUnless(effect !== "acts" || cache === "never", "the result of an act is never cached; remove cache"),
    ...problemUnless(cache !== "ttl_only" || cacheTtlMs !== undefined, "cache ttl_only needs cacheTtlMs"),
    ...problemUnless(
      cacheTtlMs === undefined || cache !== "never",
      "cacheTtlMs needs a cache: use_if_safe or ttl_only",
    ),
    ...problemUnless(
      definition.cacheShare === undefined || cache !== "never",
      "cacheShare needs a cache: use_if_safe or ttl_only",
    ),
    ...problemUnless(
      confirm === "none" || verify !== undefined,
      "confirm needs verify, which checks the outside world",
    ),
    ...problemUnless(safeIfAbsent === false || compensate !== undefined, "safeIfAbsent needs compensate"),
    ...idempotenceProblems(definition),
  ];
}

/** Returns the timeout of a tool that sets none. */
export function defaultTimeoutMs(asks: unknown): number {
  return asks === "model" ? toolDefaults.modelTimeoutMs : toolDefaults.timeoutMs;
}

function isShorter(heartbeatMs: unknown, timeoutMs: unknown): boolean {
  return heartbeatMs === undefined || Number(heartbeatMs) < Number(timeoutMs);
}

/** A call is repeated only while a whole attempt fits into the time of the promise. */
function idempotenceProblems({
  idempotent,
  asks,
  timeoutMs = defaultTimeoutMs(asks),
  settleAfter = toolDefaults.settleAfter,
}: UncheckedDefinition): readonly string[] {
  if (idempotent === undefined) return [];
  const forMs = isPlainObject(idempotent) ? idempotent.forMs : undefined;
  if (!isWithin(forMs, { min: 1, max: 366 * dayMs }))
    return ["idempotent must be { forMs } with a whole number of milliseconds"];
  const isLongEnough = forMs > Number(timeoutMs) + Number(settleAfter);
  return problemUnless(
    isLongEnough,
    "idempotent.forMs must be longer than timeoutMs and settleAfter together, or it has no effect",
  );
}

function problemUnless(isValid: boolean, problem: string): readonly string[] {
  return isValid ? [] : [problem];
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === "string" && pattern.test(value);
}

function isWithin(value: unknown, { min, max }: { readonly min: number; readonly max: number }): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
}
