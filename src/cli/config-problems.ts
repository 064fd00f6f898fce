import { nearestName } from "../core/json/nearest-name.ts";
import { isPlainObject } from "../core/json/plain-object.ts";
import { effects, modes } from "../core/values/effect.ts";
import { defaultLimits } from "../engine/api/engine-limits.ts";
import { limitSettingProblems } from "../engine/api/limit-setting-problems.ts";
import { scopes } from "../http-api/api-route.ts";
import { notifyProblems } from "../notify/recipient.ts";

/** For each field of a config, a function that returns what the value must be, or null if it is valid. */
const fields: Readonly<Record<string, (value: unknown) => string | null>> = {
  store: (value) =>
    unless(
      isText(value) || has(value, "append") || has(value, "then"),
      `a path like "writ.db", a Postgres URL, or a store`,
    ),
  tools: toolsProblem,
  slices: (value) =>
    unless(
      Array.isArray(value) && value.every((slice) => has(slice?.entry, "parse")),
      "a list of slices made with defineSlice",
    ),
  resources: (value) => unless(isPlainObject(value), "an object with a resource by each name"),
  principal: principalProblem,
  tenants: tenantsProblem,
  budgets: (value) => first(limitSettingProblems({ budgets: value }, "")),
  rates: (value) => first(limitSettingProblems({ rates: value }, "")),
  zone: (value) => first(limitSettingProblems({ zone: value }, "")),
  policies: (value) => unless(Array.isArray(value), "a list of policies, as JSON"),
  guards: (value) => unless(Array.isArray(value), "a list of guards"),
  strictPlans: (value) => unless(typeof value === "boolean", "true or false"),
  durability: (value) => unless(isOneOf(value, ["every", "power", "process"]), `"every", "power" or "process"`),
  limits: limitsProblem,
  onNotice: (value) => unless(typeof value === "function", "a function"),
  observers: (value) => unless(Array.isArray(value), "a list of observers"),
  notify: notifyProblem,
  server: serverProblem,
};

/** Returns all problems of the default export of a config. */
export function configProblems(exported: unknown): readonly string[] {
  if (!isPlainObject(exported))
    return ["it has no default export that is an object; write export default { tools: [...] }"];
  return Object.entries(exported).flatMap(([name, value]) => {
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (check === undefined) return [unknownField("", name, Object.keys(fields))];
    const wanted = value === undefined ? null : check(value);
    return wanted === null ? [] : [`${name} must be ${wanted}`];
  });
}

function notifyProblem(value: unknown): string | null {
  if (!isPlainObject(value)) return "an object like { recipients: [{ webhook, secret }] }";
  const { url = "http://localhost", recipients, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) return `valid: ${unknownField("notify.", other, ["url", "recipients"])}`;
  return first(notifyProblems({ url, recipients }).map((problem) => `notify: ${problem}`));
}

function serverProblem(value: unknown): string | null {
  if (!isPlainObject(value)) return "an object like { oidc: { issuer, audience } }";
  const [other] = Object.keys(value).filter((name) => !["oidc", "demo"].includes(name));
  if (other !== undefined) return `valid: ${unknownField("server.", other, ["oidc", "demo"])}`;
  const { demo } = value;
  if (demo !== undefined && !(isPlainObject(demo) && isText(demo.url) && isText(demo.secret)))
    return "valid: server.demo needs url and secret";
  return value.oidc === undefined ? null : oidcProblem(value.oidc);
}

const oidcFields = ["issuer", "audience", "tenantClaim", "rolesClaim", "roleScopes"];

function oidcProblem(value: unknown): string | null {
  if (!isPlainObject(value) || !isText(value.issuer) || !isText(value.audience))
    return "valid: server.oidc needs issuer and audience";
  const [other] = Object.keys(value).filter((name) => !oidcFields.includes(name));
  if (other !== undefined) return `valid: ${unknownField("server.oidc.", other, oidcFields)}`;
  const { roleScopes = {} } = value;
  const areScopes = (list: unknown) => Array.isArray(list) && list.every((scope) => isOneOf(scope, scopes));
  return unless(
    isPlainObject(roleScopes) && Object.values(roleScopes).every(areScopes),
    `valid: server.oidc.roleScopes lists scopes (${scopes.join(", ")}) for each role`,
  );
}

function toolsProblem(value: unknown): string | null {
  if (!Array.isArray(value)) return "a list of tools made with defineTool";
  const index = value.findIndex((tool) => !isTool(tool));
  return index < 0 ? null : `a list of tools made with defineTool; number ${index + 1} is not`;
}

function isTool(value: unknown): boolean {
  return isPlainObject(value) && isText(value.name) && isOneOf(value.effect, effects) && has(value.input, "parse");
}

function principalProblem(value: unknown): string | null {
  const wanted = `{ id, kind: "agent" | "person" | "service", tenant }`;
  if (!isPlainObject(value) || !isText(value.id) || !isText(value.tenant)) return wanted;
  return unless(isOneOf(value.kind, ["agent", "person", "service"]), wanted);
}

function tenantsProblem(value: unknown): string | null {
  if (!isPlainObject(value)) return "an object with the settings of each tenant";
  for (const [tenant, settings] of Object.entries(value)) {
    if (!isPlainObject(settings)) return `an object with the settings of each tenant; ${tenant} has none`;
    const { mode, admin: _admin, trust, budgets: _budgets, rates: _rates, zone: _zone, ...others } = settings;
    const [other] = Object.keys(others);
    if (other !== undefined) return `valid: ${unknownField(`${tenant}.`, other, tenantFields)}`;
    const limited = first(limitSettingProblems(settings, `${tenant}.`));
    if (limited !== null) return limited;
    if (mode !== undefined && !isOneOf(mode, modes)) return `valid: ${tenant}.mode is one of ${modes.join(", ")}`;
    const names = trust === undefined || (Array.isArray(trust) && trust.every(isText));
    if (!names) return `valid: ${tenant}.trust is a list of names of tools`;
  }
  return null;
}

const tenantFields = ["mode", "admin", "trust", "budgets", "rates", "zone"];

function first([problem]: readonly string[]): string | null {
  return problem === undefined ? null : `valid: ${problem}`;
}

function limitsProblem(value: unknown): string | null {
  if (!isPlainObject(value)) return "an object of numbers";
  for (const [name, limit] of Object.entries(value)) {
    if (!Object.hasOwn(defaultLimits, name)) return `valid: ${unknownField("", name, Object.keys(defaultLimits))}`;
    if (!Number.isSafeInteger(limit) || (limit as number) < 1) return `valid: ${name} is a whole number of at least 1`;
  }
  return null;
}

function unknownField(where: string, name: string, known: readonly string[]): string {
  const meant = nearestName(name, known);
  return `${where}${name} is not a field; ${meant === null ? `there are ${known.join(", ")}` : `did you mean ${meant}?`}`;
}

const unless = (holds: boolean, wanted: string): string | null => (holds ? null : wanted);
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isOneOf = (value: unknown, words: readonly unknown[]): boolean => words.includes(value);
const has = (value: unknown, method: string): boolean =>
  typeof value === "object" && value !== null && typeof (value as Record<string, unknown>)[method] === "function";
