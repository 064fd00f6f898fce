import type { AppendResult, Claim, Entry, Store } from "../src/core/store/store.ts";
import { FaultError, fault } from "../src/core/values/fault.ts";
import type { Tenant } from "../src/core/values/ids.ts";
import { isHaltJournalName } from "./halt-model.ts";
import type { SimContext } from "./sim-context.ts";
import type { WorkerProcess } from "./worker-process.ts";

type CallFate =
  | "done"
  | "failed"
  | "lost"
  | "unknown"
  | "killed before"
  | "killed after"
  | "request delayed"
  | "answer delayed"
  | "doubled";

/** Often longer than a lease. */
const MAX_DELAY_MS = 100_000;

/** Returns the shared store as one worker reaches it. The scheduler answers each call, with or without a fault. */
export function faultyStore(sim: SimContext, worker: WorkerProcess): Store {
  const { store, boot } = sim;
  const callStore = storeCaller(sim, worker);
  return {
    clock: sim.scheduler,
    leaseMs: store.leaseMs,
    changes: () => null,
    truncateLog: () => store.truncateLog(),
    beginMaintenance: () => store.beginMaintenance(),
    boot,
    append: (entries) =>
      callStore(
        "append",
        () => describeEntries(entries),
        () => appendAndObserve(sim, entries, worker.number),
        true,
      ),
    events: (...args) => callStore("events", args[1], () => store.events(...args)),
    journals: (...args) => callStore("journals", "", () => store.journals(...args)),
    head: (...args) => callStore("head", args[1], () => store.head(...args)),
    heldRuns: (...args) => callStore("heldRuns", "", () => store.heldRuns(...args)),
    row: (...args) => readRow(sim, worker, callStore, ...args),
    list: (...args) => callStore("list", args[1].table, () => store.list(...args)),
    search: (...args) => callStore("search", args[1].table, () => store.search(...args)),
    count: (...args) => callStore("count", args[1].table, () => store.count(...args)),
    outdatedRuns: async () => [],
    markRefolded: async () => {},
    runs: (...args) => callStore("runs", "", () => store.runs(...args)),
    tallies: (...args) => callStore("tallies", "", () => store.tallies(...args)),
    used: (...args) => callStore("used", args[1], () => readTally(sim, worker, ...args)),
    claim: (...args) =>
      callStore("claim", args[2], () =>
        claimAndObserve(sim, worker, () => toClaimList(store.claim(...args)), firstClaim),
      ),
    claimDue: (...args) =>
      callStore("claimDue", "", () => claimAndObserve(sim, worker, () => store.claimDue(...args), allClaims)),
    retireWorker: (...args) => callStore("retireWorker", "", () => store.retireWorker(...args)),
    renew: (...args) => callStore("renew", "", () => renewAndObserve(sim, ...args)),
    release: (claim) => callStore("release", claim.run, () => releaseAndObserve(sim, worker, claim)),
    ask: (...args) => callStore("ask", args[2], () => store.ask(...args)),
    withdrawAsk: (...args) => callStore("withdrawAsk", args[2], () => store.withdrawAsk(...args)),
    workers: () => callStore("workers", "", () => store.workers()),
    holdings: (...args) => callStore("holdings", "", () => store.holdings(...args)),
    nextDue: () => callStore("nextDue", "", () => store.nextDue()),
    predecessor: (claim) => callStore("predecessor", claim.run, () => store.predecessor(claim)),
    mark: (claim, step, attempt) => callStore("mark", step, () => markAndCount(sim, store.mark(claim, step, attempt))),
    marked: (tenant, run, step, attempt, started) =>
      callStore("marked", step, () => store.marked(tenant, run, step, attempt, started === sim.boot ? store.boot : "")),
    wrongCopies: (...args) => callStore("wrongCopies", "", () => store.wrongCopies(...args)),
    claims: (...args) => callStore("claims", "", () => store.claims(...args)),
    putBlob: (...args) => callStore("putBlob", args[1], () => store.putBlob(...args)),
    blob: (...args) => callStore("blob", args[1], () => store.blob(...args)),
    erase: (...args) => callStore("erase", args[0].run, () => store.erase(...args)),
    watch: (hint) => worker.watch(hint),
    registerWorker: async () => {},
    close: async () => {},
  };
}

type StoreCaller = <Value>(
  name: string,
  about: string | (() => string),
  perform: () => Promise<Value>,
  appends?: boolean,
) => Promise<Value>;

function storeCaller(sim: SimContext, worker: WorkerProcess): StoreCaller {
  return (name, about, perform, appends = false) =>
    new Promise((resolve, reject) => {
      if (!worker.alive) return;
      const { powerCuts } = sim;
      const executeAfterDeath = () => {
        if (sim.powerCuts === powerCuts) void perform();
      };
      const call = { name, owner: worker.number, about, executeAfterDeath, perform, resolve, reject };
      sim.scheduler.add({ ...call, execute: () => answerCall(sim, worker, call, appends) });
    });
}

interface StoreCall<Value> {
  readonly name: string;
  readonly owner: number;
  readonly about: string | (() => string);
  perform(): Promise<Value>;
  resolve(value: Value): void;
  reject(error: unknown): void;
}

function drawCallFate({ rng, rates }: SimContext, appends: boolean): CallFate {
  if (rng.chance(rates.failed)) return "failed";
  if (rng.chance(rates.lost)) return "lost";
  if (rng.chance(rates.unknown)) return "unknown";
  if (rng.chance(rates.killed)) return rng.chance(0.5) ? "killed before" : "killed after";
  if (rng.chance(rates.delayed)) return rng.chance(0.5) ? "request delayed" : "answer delayed";
  if (appends && rng.chance(rates.doubled)) return "doubled";
  return "done";
}

function answerCall<Value>(sim: SimContext, worker: WorkerProcess, call: StoreCall<Value>, appends: boolean): string {
  const { counts } = sim;
  const fate = drawCallFate(sim, appends);
  switch (fate) {
    case "failed":
      counts.failed += 1;
      call.reject(new FaultError(fault("STORE_FAILED", "the simulated store failed")));
      break;
    case "lost":
      counts.lost += 1;
      void call.perform();
      call.reject(new FaultError(fault("STORE_UNKNOWN", "the answer of the simulated store was lost")));
      break;
    case "unknown":
      call.reject(new FaultError(fault("STORE_UNKNOWN", "the simulated store was not reached")));
      break;
    case "killed before":
      worker.die(fate);
      break;
    case "killed after":
      void call.perform();
      worker.die(fate);
      break;
    case "request delayed":
    case "answer delayed":
      counts.delayed += 1;
      delayCall(sim, call, fate);
      break;
    case "doubled":
      counts.doubled += 1;
      duplicateCall(sim, call);
      break;
    default:
      void call.perform().then(call.resolve, call.reject);
  }
  return fate;
}

/** Delays the call or its answer, sometimes for longer than the lease. */
function delayCall<Value>(
  { rng, scheduler }: SimContext,
  call: StoreCall<Value>,
  fate: "request delayed" | "answer delayed",
): void {
  const { name, owner, about, perform, resolve, reject } = call;
  const sent = fate === "answer delayed" ? perform() : null;
  const execute = () => {
    void (sent ?? perform()).then(resolve, reject);
    return "delayed";
  };
  scheduler.addAt(scheduler.now() + rng.between(50, rng.chance(0.5) ? 2000 : MAX_DELAY_MS), {
    name,
    owner,
    about,
    execute,
  });
}

/** The same entry arrives twice; the caller receives one of the two answers. */
function duplicateCall<Value>(sim: SimContext, { name, about, perform, resolve, reject }: StoreCall<Value>): void {
  const { rng, scheduler, powerCuts } = sim;
  const firstCopy = perform();
  if (rng.chance(0.5)) {
    const execute = () => {
      if (sim.powerCuts === powerCuts) void perform();
      return "duplicate";
    };
    scheduler.addAt(scheduler.now() + rng.below(MAX_DELAY_MS), { name, owner: 0, about, execute });
    void firstCopy.then(resolve, reject);
  } else {
    const secondCopy = perform();
    void (rng.chance(0.5) ? firstCopy : secondCopy).then(resolve, reject);
  }
}

async function appendAndObserve(
  sim: SimContext,
  entries: readonly Entry[],
  writer: number,
): Promise<readonly AppendResult[]> {
  const { tables, observer, counts, store, unsynced, rng } = sim;
  const before = entries.map(({ tenant, run }) => tables.position(tenant, run));
  const written = entries.map((entry) => unsynced.prepare(sim, entry));
  const landing = store.append(entries);
  for (const [index, entry] of entries.entries()) {
    if (tables.position(entry.tenant, entry.run) === before[index]) continue;
    written[index]?.();
    observer.observeEntry(entry, writer);
    sim.powerCut ||= entry.flush === "soft" && rng.chance(sim.rates.powerCut);
  }
  const answers = await landing;
  for (const answer of answers) if (!answer.landed && answer.why === "epoch") counts.fenced += 1;
  return answers;
}

/** Records which halts the worker can know: the row as of the read, from the time of the answer. */
async function readRow(
  sim: SimContext,
  worker: WorkerProcess,
  callStore: StoreCaller,
  ...args: Parameters<Store["row"]>
): ReturnType<Store["row"]> {
  const [tenant, table, key] = args;
  if (table !== "setting" || !isHaltJournalName(key)) return callStore("row", table, () => sim.store.row(...args));
  let recordAnswer: (answered: number) => void = () => {};
  const found = await callStore("row", table, () => {
    recordAnswer = sim.haltModel.recordLookup(worker.number, tenant);
    return sim.store.row(...args);
  });
  recordAnswer(sim.scheduler.now());
  return found;
}

async function readTally(
  { store, trustModel }: SimContext,
  worker: WorkerProcess,
  tenant: Tenant,
  tally: string,
): Promise<number> {
  const value = await store.used(tenant, tally);
  trustModel.addRead(worker.number, tenant, tally, value);
  return value;
}

async function claimAndObserve<Value>(
  { observer }: SimContext,
  worker: WorkerProcess,
  claim: () => Promise<readonly Claim[]>,
  answer: (claims: readonly Claim[]) => Value,
): Promise<Value> {
  const claims = await claim();
  for (const each of claims) observer.observeClaim(each, worker.number);
  return answer(claims);
}

const firstClaim = (claims: readonly Claim[]): Claim | null => claims[0] ?? null;
const allClaims = (claims: readonly Claim[]): readonly Claim[] => claims;

async function toClaimList(claim: Promise<Claim | null>): Promise<readonly Claim[]> {
  const taken = await claim;
  return taken === null ? [] : [taken];
}

async function renewAndObserve(
  { store, observer }: SimContext,
  ...[worker, claims]: Parameters<Store["renew"]>
): Promise<readonly Claim[]> {
  const lost = await store.renew(worker, claims);
  observer.observeRenewal(claims);
  return lost;
}

async function releaseAndObserve(
  { store, observer }: SimContext,
  { stopping }: WorkerProcess,
  claim: Claim,
): Promise<void> {
  await store.release(claim);
  observer.observeRelease(claim, stopping);
}

async function markAndCount({ counts }: SimContext, mark: Promise<boolean>): Promise<boolean> {
  const written = await mark;
  if (!written) counts.unmarked += 1;
  return written;
}

function describeEntries(entries: readonly Entry[]): string {
  const words = entries.map(({ run, expect, events }) => {
    const what = events.map(({ type, body }) => `${type} ${/"step_id":"([^"]*)"/.exec(body)?.[1] ?? ""}`).join("+");
    return `${run}@${expect.position}/${expect.epoch ?? "-"} ${what}`;
  });
  return words.join("; ");
}
