import { FaultError } from "../src/core/fault.ts";
import type { RunId } from "../src/core/id.ts";
import type { RunResult } from "../src/core/result.ts";
import type { LedgerRow } from "../src/core/rows.ts";
import type { Store } from "../src/core/store.ts";
import type { Tool } from "../src/core/tool.ts";
import type { AuditReport, Engine, RunHandle } from "../src/engine/api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { agent, ana, type Scenario, type World } from "./scenario.ts";
import { type ScenarioName, scenarios } from "./scenarios.ts";
import { Witness } from "./witness.ts";

/** A run at rest, as the engine tells it. */
export interface Driven {
  readonly result: RunResult;
  readonly ledger: readonly Pick<LedgerRow, "step_id" | "state" | "usable">[];
  /** Messages that were committed to be delivered, by id. */
  readonly notices: readonly string[];
  /** The journal: what happened, and to whom. */
  readonly events: readonly string[];
}

/** Every run of a store at rest, and whether their journals hold. */
export interface Rested {
  readonly runs: Readonly<Record<string, Driven>>;
  readonly broken: AuditReport["broken"];
}

/** What a program needs: whose stories it plays, on what, and where it may die. */
export interface Stand {
  readonly cast: readonly ScenarioName[];
  readonly store: Store;
  /** Where the world writes down what it saw. */
  readonly world: string;
  at(point: string): void;
}

interface Part {
  readonly name: ScenarioName;
  readonly scenario: Scenario;
  readonly world: World;
}

/** The user's program: the same every time it is started, whatever became of the last time. */
export async function drive(stand: Stand): Promise<Rested> {
  const { store, at, world } = stand;
  const parts = stand.cast.map((name) => partOf(name, stand));
  const gateMs = parts.map(({ scenario }) => scenario.gateMs).find((ms) => ms !== undefined);
  const bell = new Witness(world, "notices");
  const engine = await createEngine({
    store,
    tools: parts.flatMap(toolsOf),
    slices: parts.flatMap(({ scenario }) => scenario.slices ?? []),
    resources: Object.assign({}, ...parts.map(({ scenario }) => scenario.resources?.(world) ?? {})),
    tenants: { demo: { mode: "auto_exec" } },
    budgets: parts.flatMap(({ scenario, world: told }) => scenario.budgets?.(told) ?? []),
    limits: { takeovers: takeoversOf(parts), ...(gateMs !== undefined && { gateMs }) },
    dice: () => 0,
    failpoint: at,
    onNotice: async ({ notice_id }) => bell.note({ did: "notice", to: notice_id }),
  });
  const runs = await Promise.all(parts.map(async (part) => [part.name, await play(engine, store, part)] as const));
  const { broken: events, tallies } = await engine.audit({ principal: ana });
  const wrong = tallies.map(({ tally, used, charged }) => {
    const what = `the tally ${tally} says ${used}, its events charged ${charged}`;
    return { run_id: "all" as RunId, position: 0, what };
  });
  const broken = [...events, ...wrong];
  await engine.close();
  return { runs: Object.fromEntries(runs), broken };
}

/** No run is to blame for what kills its process here, but where that is what the story is about. */
function takeoversOf([first, ...others]: readonly Part[]): number {
  return (others.length === 0 && first?.scenario.takeovers) || 1_000_000;
}

/** Somebody who only looks must find every run, whatever the last process left, and before anybody mends it. */
export async function look(store: Store): Promise<void> {
  const engine = await createEngine({ store: { ...store, close: async () => {} }, tools: [], work: false });
  for (const { run_id } of await engine.runs({ principal: ana })) {
    await (await engine.run(run_id, { principal: ana })).now();
  }
  await engine.close();
}

function partOf(name: ScenarioName, { at, world }: Stand): Part {
  const named = (tool: string): string => `${name}.${tool}`;
  return { name, scenario: scenarios[name], world: { witness: new Witness(world, name, at), at, named } };
}

function toolsOf({ scenario, world }: Part): readonly Tool[] {
  return scenario.tools(world).map((tool) => ({ ...tool, name: world.named(tool.name) }));
}

async function play(engine: Engine, store: Store, part: Part): Promise<Driven> {
  const { name, scenario, world } = part;
  const steps = scenario.steps.map((step) =>
    typeof step.name === "string" ? { ...step, name: world.named(step.name) } : step,
  );
  await scenario.before?.({ engine, witness: world.witness });
  const { mode = "auto_exec", project } = scenario;
  const as = { principal: agent, requestKey: name, mode, ...(project !== undefined && { project }) };
  const run = await insisting(() => engine.submit({ steps }, as));
  world.witness.hears(`run.accepted ${run.run_id}`);
  const result = await insisting(() => toRest(engine, run, part));
  return { result, ledger: await ledgerOf(store, run.run_id), ...(await journalOf(run)) };
}

/** Asks again when the store was not itself, as a server would that cannot simply end. */
async function insisting<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof FaultError) || error.fault.code !== "STORE_FAILED") throw error;
      await aMoment();
    }
  }
}

/** Who asks again and again without a pause keeps the process from doing what is asked for. */
function aMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/** Decides what is asked, and waits until the run can be moved by nobody here. */
async function toRest(engine: Engine, run: RunHandle, part: Part): Promise<RunResult> {
  const { scenario, world } = part;
  const { witness } = world;
  for (;;) {
    const seen = (await journalOf(run)).events.length;
    const result = await run.result();
    listen(result, witness);
    const decided = await decideAll(engine, result, part);
    if (decided || (await scenario.person?.({ engine, result, witness }))) continue;
    if (isOver(result)) {
      if ((await undelivered(run)) === 0) return result;
      await aMoment();
      continue;
    }
    for await (const _event of run.events({ after: seen, follow: true })) break;
  }
}

/** What a result says is done may be relied on from then on. */
function listen({ steps, final, status }: RunResult, witness: Witness): void {
  for (const [step, { state }] of Object.entries(steps)) if (state === "succeeded") witness.hears(`succeeded ${step}`);
  if (final) witness.hears(`run.ended ${status}`);
}

async function decideAll(engine: Engine, { gates }: RunResult, { scenario, world }: Part): Promise<boolean> {
  let done = false;
  for (const gate of gates) {
    const said = scenario.decide?.(gate) ?? "approve";
    if (said === "leave") continue;
    await engine[said](gate.gate_id, { principal: ana });
    world.witness.hears(`gate.${said === "approve" ? "approved" : "rejected"} ${gate.gate_id}`);
    done = true;
  }
  return done;
}

/** Ended, or in a doubt that only a person can settle, with nothing else under way. */
function isOver({ final, blocked_on }: RunResult): boolean {
  const asking = blocked_on.filter(({ reason_code, until }) => reason_code === "IN_DOUBT" && until === undefined);
  const behind = blocked_on.filter(({ reason_code }) => reason_code === "WAITING_FOR_KEY");
  return final || (asking.length > 0 && asking.length + behind.length === blocked_on.length);
}

async function undelivered(run: RunHandle): Promise<number> {
  const left = new Set<string>();
  for await (const { event } of run.events()) {
    if ("notices" in event) for (const { notice_id } of event.notices ?? []) left.add(notice_id);
    if (event.type === "notice.delivered") left.delete(event.notice_id);
  }
  return left.size;
}

export async function journalOf(run: RunHandle): Promise<Pick<Driven, "events" | "notices">> {
  const events: string[] = [];
  const notices: string[] = [];
  for await (const { event } of run.events()) {
    events.push([event.type, ...subjectOf(event)].join(" "));
    const told = "notices" in event ? (event.notices ?? []) : [];
    notices.push(...told.filter(({ kin }) => kin === undefined).map(({ notice_id }) => notice_id));
  }
  return { events, notices };
}

/** Whom an event is about, where there can be several. */
function subjectOf(event: object): readonly string[] {
  const { gate_id, step_id, status, run_id } = event as Readonly<Record<string, string | undefined>>;
  const subject = gate_id ?? step_id ?? status ?? run_id;
  return subject === undefined ? [] : [subject];
}

async function ledgerOf(store: Store, run: string): Promise<Driven["ledger"]> {
  const rows = await store.list("demo" as never, { table: "ledger", order: "oldest", limit: 1000 });
  return rows
    .map(({ row }) => JSON.parse(row) as LedgerRow)
    .filter(({ run_id }) => run_id === run)
    .map(({ step_id, state, usable }) => ({ step_id, state, usable }));
}
