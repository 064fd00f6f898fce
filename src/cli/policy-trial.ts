import { type Effect, effects, type Mode, modes } from "../core/effect.ts";
import type { Event } from "../core/event.ts";
import { FaultError, fault } from "../core/fault.ts";
import type { Instant } from "../core/id.ts";
import { isObject, type Json, type JsonObject } from "../core/json/json.ts";
import type { Slice } from "../core/state/slice.ts";
import type { Tool } from "../core/tool.ts";
import type { Engine, PrincipalInput } from "../engine/api.ts";
import { createEngine } from "../engine/engine.ts";
import { defineSlice } from "../schema/define-slice.ts";
import { defineTool } from "../schema/define-tool.ts";
import { memoryStore } from "../store/memory/memory-store.ts";

/** wait: it has been called as often as it may be for now. */
const verdicts = ["allow", "hold", "refuse", "wait"] as const;

/** A call that somebody might make, and what is to become of it. */
export interface TrialCase {
  readonly name: string;
  readonly call: JsonObject;
  readonly expect: (typeof verdicts)[number];
  /** The rule that is to decide; null: whichever. */
  readonly rule: string | null;
}

export interface TrialResult {
  readonly name: string;
  readonly ok: boolean;
  readonly expected: string;
  readonly found: string;
  readonly reason: string;
}

const fields = [
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

/** Reads a table of cases, or says everything that is wrong with it. */
export function readCases(raw: Json): readonly TrialCase[] {
  const reasons: string[] = [];
  const cases = (Array.isArray(raw) ? raw : []).map((each: Json, at): TrialCase => {
    const call = isObject(each) ? each : {};
    const { name = `case ${at + 1}`, expect, rule = null } = call;
    const wrong = (what: string): void => void reasons.push(`/cases/${at}: ${what}`);
    for (const field of Object.keys(call)) if (!fields.includes(field)) wrong(`there is no ${field}`);
    if (!verdicts.includes(expect as TrialCase["expect"])) wrong("expect is allow, hold, refuse or wait");
    if (toolIn(call.tool) === null)
      wrong("tool is { name, effect } with tags, risk and roles as defineTool takes them");
    if (call.at !== undefined && Number.isNaN(Date.parse(String(call.at))))
      wrong("at is a moment, as in 2026-11-16T09:00:00Z");
    if (call.mode !== undefined && !modes.includes(call.mode as Mode)) wrong(`mode is one of ${modes.join(", ")}`);
    if (slicesOf(call.state) === null) wrong("state is slices by name, each a list or an object of entries");
    return { name: String(name), call, expect: expect as TrialCase["expect"], rule: rule as string | null };
  });
  if (cases.length === 0) reasons.push("/cases: must be a list of at least one case");
  if (reasons.length === 0) return cases;
  throw new FaultError(fault("INVALID_INPUT", `the cases cannot be tried: ${reasons.join("; ")}`, { reasons }));
}

/** Sends a call down the whole road, on a store that is forgotten and with tools that do nothing. */
export async function tried(policies: readonly Json[], { name, call, expect, rule }: TrialCase): Promise<TrialResult> {
  const before = (Array.isArray(call.after) ? call.after : []).map((tool: Json) => toolIn(tool, "reads"));
  const tool = toolIn(call.tool) as Tool;
  const tools = [...new Map([...before, tool].flatMap((each) => (each === null ? [] : [[each.name, each]]))).values()];
  const at = call.at === undefined ? DAYTIME : Date.parse(String(call.at));
  const clock = { now: () => at as Instant };
  const principal = { id: "agent", kind: "agent", tenant: "default", ...(call.principal as object) } as PrincipalInput;
  const mode = (call.mode ?? "auto_exec") as Mode;
  const engine = await createEngine({
    store: memoryStore({ clock }),
    tools,
    policies,
    slices: slicesOf(call.state) ?? [],
    tenants: { [principal.tenant]: { mode } },
    clock,
  });
  try {
    const { found, by, reason } = await verdictOn(engine, planOf(before, tool, call), principal, call);
    const ok = found === expect && (rule === null || rule === by);
    return { name, ok, expected: shown(expect, rule), found: shown(found, by), reason };
  } finally {
    await engine.close();
  }
}

/** Slices that begin as a case says; null: they cannot. */
function slicesOf(state: Json = {}): readonly Slice[] | null {
  if (!isObject(state)) return null;
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

const shown = (what: string, rule: string | null): string => (rule === null ? what : `${what} by ${rule}`);

function planOf(before: readonly (Tool | null)[], tool: Tool, { input = {} }: JsonObject): object {
  const earlier = before.flatMap((each, index) =>
    each === null ? [] : [{ step_id: `before${index}`, name: each.name, payload: {}, gate: "none" }],
  );
  const depends_on = earlier.map(({ step_id }) => step_id);
  return { steps: [...earlier, { step_id: "call", name: tool.name, payload: input, depends_on }] };
}

interface Found {
  readonly found: TrialCase["expect"];
  readonly by: string | null;
  readonly reason: string;
}

async function verdictOn(engine: Engine, plan: object, principal: PrincipalInput, place: JsonObject): Promise<Found> {
  const { project, session } = place;
  const where = { ...(project && { project: String(project) }), ...(session && { session: String(session) }) };
  const run = await engine.submit(plan, { principal, ...where });
  await run.result();
  let found: Found | null = null;
  for await (const { event } of run.events()) found = verdictIn(event) ?? found;
  if (found === null)
    throw new FaultError(
      fault("INVALID_INPUT", "what comes after the earlier calls was never judged: one of them was held or refused"),
    );
  return found;
}

function verdictIn(event: Event): Found | null {
  if (!("step_id" in event) || event.step_id !== "call") return null;
  if (event.type === "step.rejected") return { found: "refuse", by: event.rule, reason: event.fault.message };
  if (event.type === "gate.opened") return { found: "hold", by: event.rule, reason: event.reason };
  if (event.type === "step.parked" && event.on.for === "rate")
    return { found: "wait", by: event.on.rule ?? "rate", reason: `${event.on.tally} is used up` };
  return event.type === "step.started" || event.type === "step.succeeded"
    ? { found: "allow", by: null, reason: "" }
    : null;
}

/** A tool that says of itself what the case says, and does nothing; null: it cannot be one. */
function toolIn(given: Json | undefined, otherwise: Effect = "acts"): Tool | null {
  const { name, effect = otherwise, ...rest } = isObject(given) ? given : {};
  if (typeof name !== "string" || !effects.includes(effect as Effect)) return null;
  const said = rest as { readonly tags?: readonly string[]; readonly roles?: readonly string[] };
  try {
    return defineTool({
      ...said,
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
