import type { Event } from "../core/event/event.ts";
import type { Slice } from "../core/state/slice.ts";
import type { Tool } from "../core/tool/tool.ts";
import { type Effect, effects, type Mode, modes } from "../core/values/effect.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Instant } from "../core/values/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";
import type { Engine, PrincipalInput } from "../engine/api/engine-api.ts";
import { createEngine } from "../engine/engine.ts";
import { defineSlice } from "../schema/define-slice.ts";
import { defineTool } from "../schema/define-tool.ts";
import { memoryStore } from "../store/memory/memory-store.ts";

/** The verdicts of a case; `wait` means that a rate is used up for now. */
const verdicts = ["allow", "hold", "refuse", "wait"] as const;

/** A call, and the verdict that the policies should give. */
export interface PolicyCase {
  readonly name: string;
  readonly call: JsonObject;
  readonly expect: (typeof verdicts)[number];
  /** The rule that should decide, or null for any rule. */
  readonly rule: string | null;
}

export interface PolicyCaseResult {
  readonly name: string;
  readonly ok: boolean;
  readonly expected: string;
  readonly found: string;
  readonly reason: string;
}

const caseFields = [
  "name",
  "expect",
  "rule",
  "tool",
  "input",
  "principal",
  "project",
  "session",
  "mode",
  "at",
  "after",
  "state",
];

/** Reads a table of cases, or throws INVALID_INPUT with all problems. */
export function readPolicyCases(raw: Json): readonly PolicyCase[] {
  const reasons: string[] = [];
  const cases = (Array.isArray(raw) ? raw : []).map((each: Json, at): PolicyCase => {
    const call = isJsonObject(each) ? each : {};
    const { name = `case ${at + 1}`, expect, rule = null } = call;
    const addReason = (message: string): void => void reasons.push(`/cases/${at}: ${message}`);
    for (const field of Object.keys(call)) if (!caseFields.includes(field)) addReason(`${field} is not a field`);
    if (!verdicts.includes(expect as PolicyCase["expect"])) addReason("expect is allow, hold, refuse or wait");
    if (parseCaseTool(call.tool) === null)
      addReason("tool is { name, effect } with tags, risk and roles as defineTool takes them");
    if (call.at !== undefined && Number.isNaN(Date.parse(String(call.at))))
      addReason("at is a time like 2026-11-16T09:00:00Z");
    if (call.mode !== undefined && !modes.includes(call.mode as Mode)) addReason(`mode is one of ${modes.join(", ")}`);
    if (parseCaseSlices(call.state) === null) addReason("state is slices by name, each a list or an object of entries");
    return { name: String(name), call, expect: expect as PolicyCase["expect"], rule: rule as string | null };
  });
  if (cases.length === 0) reasons.push("/cases: must be a list of at least one case");
  if (reasons.length === 0) return cases;
  throw new FaultError(fault("INVALID_INPUT", `the cases are not valid: ${reasons.join("; ")}`, { reasons }));
}

/** Runs a call through all stages, on a temporary store and with tools that do nothing, and compares its verdict. */
export async function runPolicyCase(
  policies: readonly Json[],
  { name, call, expect, rule }: PolicyCase,
): Promise<PolicyCaseResult> {
  const before = (Array.isArray(call.after) ? call.after : []).map((tool: Json) => parseCaseTool(tool, "reads"));
  const tool = parseCaseTool(call.tool) as Tool;
  const tools = [...new Map([...before, tool].flatMap((each) => (each === null ? [] : [[each.name, each]]))).values()];
  const at = call.at === undefined ? DAYTIME : Date.parse(String(call.at));
  const clock = { now: () => at as Instant };
  const principal = { id: "agent", kind: "agent", tenant: "default", ...(call.principal as object) } as PrincipalInput;
  const mode = (call.mode ?? "auto_exec") as Mode;
  const engine = await createEngine({
    store: memoryStore({ clock }),
    tools,
    policies,
    slices: parseCaseSlices(call.state) ?? [],
    tenants: { [principal.tenant]: { mode } },
    clock,
  });
  try {
    const { found, by, reason } = await runToVerdict(engine, casePlan(before, tool, call), principal, call);
    const ok = found === expect && (rule === null || rule === by);
    return { name, ok, expected: verdictText(expect, rule), found: verdictText(found, by), reason };
  } finally {
    await engine.close();
  }
}

/** Returns slices with the state of a case, or null if the state is not valid. */
function parseCaseSlices(state: Json = {}): readonly Slice[] | null {
  if (!isJsonObject(state)) return null;
  try {
    return Object.entries(state).map(([name, initial]) =>
      Array.isArray(initial)
        ? defineSlice({ name, shape: "list", entry: ANYTHING, initial })
        : defineSlice({ name, shape: "map", entry: ANYTHING, initial: initial as JsonObject }),
    );
  } catch {
    return null;
  }
}

/** A Monday at noon. */
const DAYTIME = Date.UTC(2026, 0, 5, 12);

const verdictText = (what: string, rule: string | null): string => (rule === null ? what : `${what} by ${rule}`);

function casePlan(before: readonly (Tool | null)[], tool: Tool, { input = {} }: JsonObject): object {
  const earlier = before.flatMap((each, index) =>
    each === null ? [] : [{ step_id: `before${index}`, name: each.name, payload: {}, gate: "none" }],
  );
  const depends_on = earlier.map(({ step_id }) => step_id);
  return { steps: [...earlier, { step_id: "call", name: tool.name, payload: input, depends_on }] };
}

interface CaseVerdict {
  readonly found: PolicyCase["expect"];
  readonly by: string | null;
  readonly reason: string;
}

async function runToVerdict(
  engine: Engine,
  plan: object,
  principal: PrincipalInput,
  place: JsonObject,
): Promise<CaseVerdict> {
  const { project, session } = place;
  const where = { ...(project && { project: String(project) }), ...(session && { session: String(session) }) };
  const run = await engine.submit(plan, { principal, ...where });
  await run.result();
  let found: CaseVerdict | null = null;
  for await (const { event } of run.events()) found = verdictFromEvent(event) ?? found;
  if (found === null)
    throw new FaultError(
      fault("INVALID_INPUT", "the call was not judged: one of the earlier calls was held or refused"),
    );
  return found;
}

function verdictFromEvent(event: Event): CaseVerdict | null {
  if (!("step_id" in event) || event.step_id !== "call") return null;
  if (event.type === "step.rejected") return { found: "refuse", by: event.rule, reason: event.fault.message };
  if (event.type === "gate.opened") return { found: "hold", by: event.rule, reason: event.reason };
  if (event.type === "step.parked" && event.on.for === "rate")
    return { found: "wait", by: event.on.rule ?? "rate", reason: `${event.on.tally} is used up` };
  return event.type === "step.started" || event.type === "step.succeeded"
    ? { found: "allow", by: null, reason: "" }
    : null;
}

/** Returns a tool with the declaration of the case that does nothing, or null if the declaration is not valid. */
function parseCaseTool(given: Json | undefined, otherwise: Effect = "acts"): Tool | null {
  const { name, effect = otherwise, ...rest } = isJsonObject(given) ? given : {};
  if (typeof name !== "string" || !effects.includes(effect as Effect)) return null;
  const declared = rest as { readonly tags?: readonly string[]; readonly roles?: readonly string[] };
  try {
    return defineTool({
      ...declared,
      name,
      effect: effect as Effect,
      input: ANYTHING,
      output: ANYTHING,
      run: async () => ({}),
    });
  } catch {
    return null;
  }
}

const ANYTHING = {} as const;
