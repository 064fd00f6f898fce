import type { Principal } from "../../core/approval/principal.ts";
import { addedSteps } from "../../core/event/added-steps.ts";
import type { Event } from "../../core/event/event.ts";
import { rowTag } from "../../core/store/row-tags.ts";
import type { RunRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, StepId } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import type { PolicyDocument } from "../../policy/parser/parse-policy.ts";
import type { JudgedSample, PolicySample, PolicyTestOptions, SampleVerdict } from "../api/policy-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { requestLimits } from "../api/request-limits.ts";
import { JournalCodec } from "../journal/journal-codec.ts";
import { readEventPages } from "../journal/load-run.ts";
import { readPlan } from "../messages/submit-run.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { assertFilters, readListPage } from "./list-page.ts";
import { runSimulation } from "./simulate-plan.ts";

/** A call with the principal that makes it. */
interface Sample extends Pick<JudgedSample, "tool" | "input" | "project" | "recorded"> {
  readonly principal: Principal;
  readonly session: string | null;
  readonly mode: PolicySample["mode"];
}

/** Judges calls by the policies in force, and by a draft in their place: each is a simulated run of one step. */
export async function judgeSamples(
  ports: WorkerPorts,
  draft: PolicyDocument,
  options: PolicyTestOptions,
): Promise<readonly JudgedSample[]> {
  const samples = [...givenSamples(options), ...(await recordedSamples(ports, options))];
  const policies = ports.policies.withDraft(draft);
  const drafted = { ...ports, policies, rules: { ...ports.rules, policyFor: policies.of.bind(policies) } };
  const judged: JudgedSample[] = [];
  for (const sample of samples) {
    const { tool, input, principal, project, recorded } = sample;
    const [now, later] = [await judgeSample(ports, sample), await judgeSample(drafted, sample)];
    judged.push({ tool, input, by: principal.id, project, recorded, now, draft: later });
  }
  return judged;
}

function givenSamples({ principal, calls = [], recorded = 0 }: PolicyTestOptions): readonly Sample[] {
  const isCount = Number.isSafeInteger(recorded) && recorded >= 0;
  if (!Array.isArray(calls) || !isCount || calls.length + recorded > requestLimits.samples) {
    const message = `pass calls and a number of recorded calls, at most ${requestLimits.samples} together`;
    throw new FaultError(fault("INVALID_INPUT", message));
  }
  const asker = readPrincipal(principal);
  return calls.map(({ tool, input, as, project, session, mode }: PolicySample) => {
    assertFilters({ tool, project, session });
    const who = as === undefined ? asker : readPrincipal({ ...as, tenant: asker.tenant });
    return { tool, input, project: project ?? null, session: session ?? null, mode, principal: who, recorded: null };
  });
}

/** Returns the calls of the latest runs, newest run first. */
async function recordedSamples(ports: WorkerPorts, options: PolicyTestOptions): Promise<readonly Sample[]> {
  const { recorded = 0, tool, project } = options;
  if (recorded === 0) return [];
  assertFilters({ tool, project });
  const { tenant } = readPrincipal(options.principal);
  const tags = [
    ...(tool === undefined ? [] : [rowTag("tools", tool)]),
    ...(project === undefined ? [] : [rowTag("project", project)]),
  ];
  const { rows } = await readListPage<RunRow>(ports.store, tenant, { table: "run", tags, limit: recorded });
  const samples: Sample[] = [];
  for (const { run_id } of rows) {
    if (samples.length >= recorded) break;
    samples.push(
      ...(await samplesOfRun(ports, tenant, run_id)).filter((call) => tool === undefined || call.tool === tool),
    );
  }
  return samples.slice(0, recorded);
}

async function samplesOfRun(
  { store }: WorkerPorts,
  tenant: Principal["tenant"],
  run_id: RunRow["run_id"],
): Promise<readonly Sample[]> {
  const journal = new JournalCodec(tenant, run_id);
  const events: Event[] = [];
  for await (const page of readEventPages(store, tenant, run_id)) {
    // Retention has erased the bodies of this run.
    if (page.some(({ body }) => body === null)) return [];
    for (const stored of page) events.push(await journal.open(stored, store));
    if (events.length >= requestLimits.activityEvents) break;
  }
  const [accepted] = events;
  if (accepted?.type !== "run.accepted") return [];
  const { principal, project = null, session = null, mode } = accepted;
  return judgedCalls(events).map(({ step_id, at, tool, input }) => {
    return { tool, input, principal, project, session, mode, recorded: { run_id, step_id, at } };
  });
}

/** A call of a run, with the input that was judged last. */
interface JudgedCall {
  readonly step_id: StepId;
  readonly tool: string;
  input: Json;
  at: Instant;
}

/** Returns the calls of a run that rules have judged, the latest first. */
function judgedCalls(events: readonly Event[]): readonly JudgedCall[] {
  const planned = new Map<StepId, { readonly tool: string; readonly input: Json }>();
  const calls = new Map<StepId, JudgedCall>();
  for (const event of events) {
    for (const { step_id, name, payload } of addedSteps(event))
      planned.set(step_id, { tool: name, input: payload ?? {} });
    if (!judgedTypes.has(event.type) || !("step_id" in event)) continue;
    const { step_id, at } = event;
    const known = calls.get(step_id) ?? planned.get(step_id);
    if (known === undefined) continue;
    calls.delete(step_id);
    calls.set(step_id, { step_id, at, tool: known.tool, input: inputOf(event) ?? known.input });
  }
  return [...calls.values()].toReversed();
}

const judgedTypes = new Set<string>([
  "gate.opened",
  "step.started",
  "step.succeeded",
  "step.failed",
  "step.rejected",
] satisfies readonly Event["type"][]);

/** Returns the input that the event records. Undefined: it is the payload of the plan. */
function inputOf(event: Event): Json | undefined {
  if ("call" in event) return event.call.input;
  return "input" in event ? event.input : undefined;
}

const STEP = "call" as StepId;

async function judgeSample(
  ports: WorkerPorts,
  { tool, input, principal, project, session, mode }: Sample,
): Promise<SampleVerdict> {
  const options = {
    principal,
    reads: "none",
    ...(project !== null && { project }),
    ...(session !== null && { session }),
    ...(mode !== undefined && { mode }),
  } as const;
  try {
    const plan = readPlan(ports, { steps: [{ step_id: STEP, name: tool, payload: input }] }, {}, false);
    const simulated = await runSimulation(ports, plan, principal, options, null);
    const held = simulated.notes.held.get(STEP);
    if (held !== undefined) return { says: "hold", rule: held.rule, reason: held.reason };
    return await recordedVerdict(simulated.ports, principal.tenant, simulated.id);
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "PLAN_INVALID")
      return { says: "unknown", rule: null, reason: error.fault.message };
    throw error;
  }
}

/** Returns the verdict that the journal of a simulated run records. */
async function recordedVerdict(
  { store }: WorkerPorts,
  tenant: Principal["tenant"],
  run: RunRow["run_id"],
): Promise<SampleVerdict> {
  const journal = new JournalCodec(tenant, run);
  for await (const page of readEventPages(store, tenant, run))
    for (const stored of page) {
      const event = await journal.open(stored, store);
      if (event.type === "step.rejected") return { says: "refuse", rule: event.rule, reason: event.fault.message };
      if (event.type === "step.parked" && event.on.for === "rate")
        return { says: "wait", rule: event.on.rule ?? null, reason: `${event.on.tally} is used up` };
    }
  return { says: "allow", rule: null, reason: "" };
}
