import type { RunResult } from "../src/core/run/run-result.ts";
import type { Store } from "../src/core/store/store.ts";
import type { LedgerRow } from "../src/core/store/tables.ts";
import type { Tool } from "../src/core/tool/tool.ts";
import { FaultError } from "../src/core/values/fault.ts";
import type { RunId } from "../src/core/values/ids.ts";
import { sameJson } from "../src/core/values/json.ts";
import type { AuditReport, Engine, EngineOptions, RunHandle } from "../src/engine/api/engine-api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { findClosedSession, openAgentSession } from "./agent-scenarios.ts";
import { agentPrincipal, personAna, type Scenario, type ScenarioWorld } from "./scenario.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";
import { WorldLog } from "./world-log.ts";

/** A run that has ended or waits for a person, as the engine returns it. */
export interface FinalRun {
  readonly result: RunResult;
  readonly ledger: readonly Pick<LedgerRow, "step_id" | "state" | "usable">[];
  /** The ids of committed notices. */
  readonly notices: readonly string[];
  /** The events of the journal: type and subject. */
  readonly events: readonly string[];
}

/** Every run of a store, and the findings of its audit. */
export interface FinalStore {
  readonly runs: Readonly<Record<string, FinalRun>>;
  readonly broken: AuditReport["broken"];
}

/** The scenarios, store, world log and kill points of a program. */
export interface ProgramSetup {
  readonly scenarioNames: readonly ScenarioName[];
  readonly store: Store;
  /** The path of the world log. */
  readonly world: string;
  at(point: string): void;
}

interface ScenarioPart {
  readonly name: ScenarioName;
  readonly scenario: Scenario;
  readonly world: ScenarioWorld;
}

/** The program of a user, the same at every start. */
export async function runUserProgram(setup: ProgramSetup): Promise<FinalStore> {
  const parts = setup.scenarioNames.map((name) => newPart(name, setup));
  const engine = await openScenarioEngine(setup);
  const runs = await Promise.all(
    parts.map(async (part) => [part.name, await runScenario(engine, setup.store, part)] as const),
  );
  const { broken: events, tallies } = await engine.audit({ principal: personAna });
  const wrongTallies = tallies.map(({ tally, used, charged }) => {
    const what = `the tally ${tally} is ${used}, its events charge ${charged}`;
    return { run_id: "all" as RunId, position: 0, what };
  });
  const broken = [...events, ...wrongTallies];
  await engine.close();
  return { runs: Object.fromEntries(runs), broken };
}

/** Opens the engine of a program, or one that differs in some options. */
function openScenarioEngine(
  setup: ProgramSetup,
  differences: Pick<Partial<EngineOptions>, "onNotice" | "tools" | "work"> = {},
): Promise<Engine> {
  const { store, at, world } = setup;
  const parts = setup.scenarioNames.map((name) => newPart(name, setup));
  const gateMs = parts.map(({ scenario }) => scenario.gateMs).find((ms) => ms !== undefined);
  const segmentSteps = parts.map(({ scenario }) => scenario.segmentSteps).find((steps) => steps !== undefined);
  const noticeLog = new WorldLog(world, "notices");
  return createEngine({
    store,
    tools: parts.flatMap(partTools),
    slices: parts.flatMap(({ scenario }) => scenario.slices ?? []),
    resources: Object.assign({}, ...parts.map(({ scenario }) => scenario.resources?.(world) ?? {})),
    tenants: { demo: { mode: "auto_exec" } },
    budgets: parts.flatMap(({ scenario, world: own }) => scenario.budgets?.(own) ?? []),
    limits: {
      takeovers: maxTakeovers(parts),
      ...(gateMs !== undefined && { gateMs }),
      ...(segmentSteps !== undefined && { segmentSteps }),
    },
    dice: () => 0,
    failpoint: at,
    onNotice: async ({ notice_id }) => noticeLog.append({ did: "notice", to: notice_id }),
    ...differences,
  });
}

/** Kills from outside must not park a run, so takeovers are unlimited except for a scenario about them. */
function maxTakeovers([first, ...others]: readonly ScenarioPart[]): number {
  return (others.length === 0 && first?.scenario.takeovers) || 1_000_000;
}

/**
 * Submits a scenario and holds its run idle until another process takes it: this one lacks the tool of the last step,
 * and delivers no notice.
 */
export async function holdRunIdle(setup: ProgramSetup, name: ScenarioName, openAgain: () => Store): Promise<void> {
  const part = newPart(name, setup);
  const submitter = await openScenarioEngine({ ...setup, store: openAgain() }, { work: false });
  const { run_id } = await submitScenario(submitter, part, {});
  part.world.worldLog.recordReport(`run.accepted ${run_id}`);
  await submitter.close();
  const missing = part.world.named(String(part.scenario.steps.at(-1)?.name));
  const engine = await openScenarioEngine(setup, {
    tools: partTools(part).filter((tool) => tool.name !== missing),
    onNotice: async () => {
      throw new Error("the receiver does not answer");
    },
  });
  await (await engine.run(run_id, { principal: personAna })).finished();
  await engine.close();
}

/** Reads every run without working: that must be possible before any recovery. */
export async function inspectStore(store: Store): Promise<void> {
  const engine = await createEngine({ store: { ...store, close: async () => {} }, tools: [], work: false });
  const hasRetention = (await engine.retentions({ principal: personAna })).length > 0;
  for (const { run_id } of await engine.runs({ principal: personAna })) {
    try {
      await (await engine.run(run_id, { principal: personAna })).now();
    } catch (error) {
      const isErased = hasRetention && error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND";
      if (!isErased) throw error;
    }
  }
  await engine.close();
}

function newPart(name: ScenarioName, { at, world }: ProgramSetup): ScenarioPart {
  const named = (tool: string): string => `${name}.${tool}`;
  return { name, scenario: scenarios[name], world: { worldLog: new WorldLog(world, name, at), at, named } };
}

function partTools({ scenario, world }: ScenarioPart): readonly Tool[] {
  return scenario.tools(world).map((tool) => ({ ...tool, name: world.named(tool.name) }));
}

async function runScenario(engine: Engine, store: Store, part: ScenarioPart): Promise<FinalRun> {
  const { scenario, world } = part;
  await scenario.before?.({ engine, worldLog: world.worldLog });
  if (scenario.agent !== undefined) return runAgent(engine, store, part);
  const submit = (more: { readonly retryFailed?: true }) => submitScenario(engine, part, more);
  const run = await retryOnStoreFault(() => submit({}));
  world.worldLog.recordReport(`run.accepted ${run.run_id}`);
  const result = await retryOnStoreFault(() => runToEnd(engine, run, part, () => submit({ retryFailed: true })));
  return { result, ledger: await readLedger(store, run.run_id), ...(await readEventsAndNotices(run)) };
}

/** Runs the loop of an agent until it has closed its run, which an earlier process may have done. */
async function runAgent(engine: Engine, store: Store, part: ScenarioPart): Promise<FinalRun> {
  const { name, scenario, world } = part;
  const { worldLog, named, at } = world;
  let closed = await findClosedSession({ engine }, name);
  while (closed === null) {
    await retryOnStoreFault(async () => {
      const run = await openAgentSession({ engine, worldLog }, name, scenario.mode);
      worldLog.recordReport(`run.accepted ${run.run_id}`);
      await scenario.agent?.({ engine, worldLog, run, named, at });
    });
    closed = await findClosedSession({ engine }, name);
  }
  const run = await engine.run(closed, { principal: personAna });
  const result = await retryOnStoreFault(() => runToEnd(engine, run, part, async () => {}));
  return { result, ledger: await readLedger(store, run.run_id), ...(await readEventsAndNotices(run)) };
}

/** Submits the plan of a scenario under its request key, or if no run has its label. */
async function submitScenario(
  engine: Engine,
  { name, scenario, world }: ScenarioPart,
  more: { readonly retryFailed?: true },
): Promise<RunHandle> {
  const steps = scenario.steps.map((step) =>
    typeof step.name === "string" ? { ...step, name: world.named(step.name) } : step,
  );
  const { mode = "auto_exec", project } = scenario;
  const as = { principal: agentPrincipal, mode, ...(project !== undefined && { project }) };
  const replan = scenario.replanner === undefined ? {} : { replan: { by: world.named(scenario.replanner) } };
  const plan = { ...(scenario.atomicity && { atomicity: scenario.atomicity }), steps };
  if (!scenario.keyless) return engine.submit(plan, { ...as, ...replan, requestKey: name, ...more });
  const [found] = await engine.runs({ principal: agentPrincipal, label: name });
  return found === undefined
    ? engine.submit(plan, { ...as, labels: [name] })
    : engine.run(found.run_id, { principal: agentPrincipal });
}

/** Repeats the work after a store fault, as a server would. */
async function retryOnStoreFault<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof FaultError) || error.fault.code !== "STORE_FAILED") throw error;
      await pauseBriefly();
    }
  }
}

/** A repetition without a pause would block the event loop. */
function pauseBriefly(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/** Decides gates and acts as the person of the scenario, until the run has ended or only waits for a person. */
async function runToEnd(
  engine: Engine,
  run: RunHandle,
  part: ScenarioPart,
  retry: () => Promise<unknown>,
): Promise<RunResult> {
  const { scenario, world } = part;
  const { worldLog } = world;
  for (;;) {
    const position = (await readEventsAndNotices(run)).events.length;
    const result = await run.result();
    recordReported(result, worldLog);
    const decided = await decideGates(engine, result, part);
    if (decided || (await scenario.person?.({ engine, result, worldLog, retry }))) continue;
    if (result.blocked_on.some(({ reason_code }) => reason_code === "TOOL_MISSING")) {
      await pauseBriefly(); // Another process holds the run, and this one asks for it again.
      continue;
    }
    if (isAtEnd(result)) {
      if ((await countUndelivered(run)) === 0) return result;
      await pauseBriefly();
      continue;
    }
    for await (const _event of run.events({ after: position, follow: true })) break;
  }
}

/** Records what a result reports, which must stay true. */
function recordReported({ steps, final, status }: RunResult, worldLog: WorldLog): void {
  for (const [step, { state }] of Object.entries(steps))
    if (state === "succeeded") worldLog.recordReport(`succeeded ${step}`);
  if (final) worldLog.recordReport(`run.ended ${status}`);
}

async function decideGates(engine: Engine, { gates }: RunResult, { scenario, world }: ScenarioPart): Promise<boolean> {
  let done = false;
  for (const gate of gates) {
    const decision = scenario.decide?.(gate) ?? "approve";
    if (decision === "leave") continue;
    const { edit, data = {} } = scenario;
    const answers = decision === "approve" && gate.asks_for !== undefined;
    const edits = decision === "approve" && edit !== undefined && !sameJson(gate.input, edit);
    await engine[decision](gate.gate_id, {
      principal: personAna,
      ...(edits && { input: edit }),
      ...(answers && { data }),
    });
    const event = decision === "reject" ? "rejected" : edits || answers ? "amended" : "approved";
    world.worldLog.recordReport(`gate.${event} ${gate.gate_id}`);
    done = true;
  }
  return done;
}

/** True if the run has ended, or only waits for a person to settle a doubt. */
function isAtEnd({ final, blocked_on }: RunResult): boolean {
  const doubts = blocked_on.filter(({ reason_code, until }) => reason_code === "IN_DOUBT" && until === undefined);
  const waiting = blocked_on.filter(({ reason_code }) => reason_code === "WAITING_FOR_KEY");
  return final || (doubts.length > 0 && doubts.length + waiting.length === blocked_on.length);
}

async function countUndelivered(run: RunHandle): Promise<number> {
  const undelivered = new Set<string>();
  for await (const { event } of run.events()) {
    if ("notices" in event) for (const { notice_id } of event.notices ?? []) undelivered.add(notice_id);
    if (event.type === "notice.delivered") undelivered.delete(event.notice_id);
  }
  return undelivered.size;
}

export async function readEventsAndNotices(run: RunHandle): Promise<Pick<FinalRun, "events" | "notices">> {
  const events: string[] = [];
  const notices: string[] = [];
  for await (const { event } of run.events()) {
    events.push([event.type, ...eventSubject(event)].join(" "));
    const added = "notices" in event ? (event.notices ?? []) : [];
    notices.push(...added.filter(({ kin }) => kin === undefined).map(({ notice_id }) => notice_id));
  }
  return { events, notices };
}

/** Returns the id that an event is about, if any. */
function eventSubject(event: object): readonly string[] {
  const { gate_id, step_id, status, run_id } = event as Readonly<Record<string, string | undefined>>;
  const subject = gate_id ?? step_id ?? status ?? run_id;
  return subject === undefined ? [] : [subject];
}

async function readLedger(store: Store, run: string): Promise<FinalRun["ledger"]> {
  const rows = await store.list("demo" as never, { table: "ledger", order: "oldest", limit: 1000 });
  return rows
    .map(({ row }) => JSON.parse(row) as LedgerRow)
    .filter(({ run_id }) => run_id === run)
    .map(({ step_id, state, usable }) => ({ step_id, state, usable }));
}
