import { FaultError, fault } from "../src/core/fault.ts";
import type { Tenant } from "../src/core/id.ts";
import type { Claim, Entry, Landing, Store } from "../src/core/store.ts";
import type { Life } from "./life.ts";
import type { Scene } from "./scene.ts";
import { isHalts } from "./standstill.ts";

type Fate =
  | "done"
  | "failed"
  | "lost"
  | "unknown"
  | "killed before"
  | "killed after"
  | "sent late"
  | "heard late"
  | "doubled";

/** Further than a lease lasts, often enough. */
const LONGEST_DELAY_MS = 100_000;

/** The one shared store as one worker reaches it: every call is an I/O that the scheduler answers, well or badly. */
export function faultyStore(scene: Scene, life: Life): Store {
  const { store, boot } = scene;
  const at = reach(scene, life);
  return {
    clock: scene.agenda,
    leaseMs: store.leaseMs,
    boot,
    append: (entries) =>
      at(
        "append",
        () => wordsOf(entries),
        () => append(scene, entries, life.number),
        true,
      ),
    events: (...given) => at("events", given[1], () => store.events(...given)),
    journals: (...given) => at("journals", "", () => store.journals(...given)),
    head: (...given) => at("head", given[1], () => store.head(...given)),
    positions: (...given) => at("positions", "", () => store.positions(...given)),
    row: (...given) => row(scene, life, at, ...given),
    list: (...given) => at("list", given[1].table, () => store.list(...given)),
    runs: (...given) => at("runs", "", () => store.runs(...given)),
    tallies: (...given) => at("tallies", "", () => store.tallies(...given)),
    used: (...given) => at("used", given[1], () => used(scene, life, ...given)),
    claim: (...given) => at("claim", given[2], () => claimed(scene, life, () => one(store.claim(...given)), first)),
    claimDue: (...given) => at("claimDue", "", () => claimed(scene, life, () => store.claimDue(...given), same)),
    renew: (claims) => at("renew", "", () => renewed(scene, claims)),
    release: (claim) => at("release", claim.run, () => released(scene, life, claim)),
    holdings: (...given) => at("holdings", "", () => store.holdings(...given)),
    nextDue: () => at("nextDue", "", () => store.nextDue()),
    predecessor: (claim) => at("predecessor", claim.run, () => store.predecessor(claim)),
    mark: (claim, step, attempt) => at("mark", step, () => marked(scene, store.mark(claim, step, attempt))),
    marked: (tenant, run, step, attempt, started) =>
      at("marked", step, () => store.marked(tenant, run, step, attempt, started === scene.boot ? store.boot : "")),
    putBlob: (...given) => at("putBlob", given[1], () => store.putBlob(...given)),
    blob: (...given) => at("blob", given[1], () => store.blob(...given)),
    erase: (...given) => at("erase", given[0].run, () => store.erase(...given)),
    watch: (hint) => life.watch(hint),
    lockWorker: async () => {},
    close: async () => {},
  };
}

type Reach = <Value>(
  name: string,
  about: string | (() => string),
  perform: () => Promise<Value>,
  appends?: boolean,
) => Promise<Value>;

function reach(scene: Scene, life: Life): Reach {
  return (name, about, perform, appends = false) =>
    new Promise((resolve, reject) => {
      if (!life.alive) return;
      const { powerCuts } = scene;
      const posthumous = () => {
        if (scene.powerCuts === powerCuts) void perform();
      };
      const call = { name, owner: life.number, about, posthumous, perform, resolve, reject };
      scene.agenda.add({ ...call, happen: () => answer(scene, life, call, appends) });
    });
}

interface Call<Value> {
  readonly name: string;
  readonly owner: number;
  readonly about: string | (() => string);
  perform(): Promise<Value>;
  resolve(value: Value): void;
  reject(error: unknown): void;
}

function drawFate({ rng, rates }: Scene, appends: boolean): Fate {
  if (rng.chance(rates.failed)) return "failed";
  if (rng.chance(rates.lost)) return "lost";
  if (rng.chance(rates.unknown)) return "unknown";
  if (rng.chance(rates.killed)) return rng.chance(0.5) ? "killed before" : "killed after";
  if (rng.chance(rates.delayed)) return rng.chance(0.5) ? "sent late" : "heard late";
  if (appends && rng.chance(rates.doubled)) return "doubled";
  return "done";
}

function answer<Value>(scene: Scene, life: Life, call: Call<Value>, appends: boolean): string {
  const { counts } = scene;
  const fate = drawFate(scene, appends);
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
      life.die(fate);
      break;
    case "killed after":
      void call.perform();
      life.die(fate);
      break;
    case "sent late":
    case "heard late":
      counts.delayed += 1;
      late(scene, call, fate);
      break;
    case "doubled":
      counts.doubled += 1;
      double(scene, call);
      break;
    default:
      void call.perform().then(call.resolve, call.reject);
  }
  return fate;
}

/** The call, or its answer, takes its time: sometimes longer than the lease. */
function late<Value>({ rng, agenda }: Scene, call: Call<Value>, fate: "sent late" | "heard late"): void {
  const { name, owner, about, perform, resolve, reject } = call;
  const sent = fate === "heard late" ? perform() : null;
  const happen = () => {
    void (sent ?? perform()).then(resolve, reject);
    return "at last";
  };
  agenda.addAt(agenda.now() + rng.between(50, rng.chance(0.5) ? 2000 : LONGEST_DELAY_MS), {
    name,
    owner,
    about,
    happen,
  });
}

/** The same entry arrives twice; the caller hears of one of them. */
function double<Value>(scene: Scene, { name, about, perform, resolve, reject }: Call<Value>): void {
  const { rng, agenda, powerCuts } = scene;
  const once = perform();
  if (rng.chance(0.5)) {
    const happen = () => {
      if (scene.powerCuts === powerCuts) void perform();
      return "again";
    };
    agenda.addAt(agenda.now() + rng.below(LONGEST_DELAY_MS), { name, owner: 0, about, happen });
    void once.then(resolve, reject);
  } else {
    const twice = perform();
    void (rng.chance(0.5) ? once : twice).then(resolve, reject);
  }
}

async function append(scene: Scene, entries: readonly Entry[], writer: number): Promise<readonly Landing[]> {
  const { tables, record, counts, store, unsynced, rng } = scene;
  const before = entries.map(({ tenant, run }) => tables.position(tenant, run));
  const written = entries.map((entry) => unsynced.writes(scene, entry));
  const landing = store.append(entries);
  for (const [index, entry] of entries.entries()) {
    if (tables.position(entry.tenant, entry.run) === before[index]) continue;
    written[index]?.();
    record.landed(entry, writer);
    scene.blackout ||= entry.flush === "soft" && rng.chance(scene.rates.blackout);
  }
  const answers = await landing;
  for (const answer of answers) if (!answer.landed && answer.why === "epoch") counts.fenced += 1;
  return answers;
}

/** Whoever looks whether something is halted knows as much as the row said when it was read. */
async function row(scene: Scene, life: Life, at: Reach, ...given: Parameters<Store["row"]>): ReturnType<Store["row"]> {
  const [tenant, table, key] = given;
  if (table !== "setting" || !isHalts(key)) return at("row", table, () => scene.store.row(...given));
  let heard: (answered: number) => void = () => {};
  const found = await at("row", table, () => {
    heard = scene.standstill.look(life.number, tenant);
    return scene.store.row(...given);
  });
  heard(scene.agenda.now());
  return found;
}

async function used({ store, credit }: Scene, life: Life, tenant: Tenant, tally: string): Promise<number> {
  const value = await store.used(tenant, tally);
  credit.tell(life.number, tenant, tally, value);
  return value;
}

async function claimed<Value>(
  { record }: Scene,
  life: Life,
  claim: () => Promise<readonly Claim[]>,
  answer: (claims: readonly Claim[]) => Value,
): Promise<Value> {
  const claims = await claim();
  for (const each of claims) record.claimed(each, life.number);
  return answer(claims);
}

const first = (claims: readonly Claim[]): Claim | null => claims[0] ?? null;
const same = (claims: readonly Claim[]): readonly Claim[] => claims;

async function one(claim: Promise<Claim | null>): Promise<readonly Claim[]> {
  const taken = await claim;
  return taken === null ? [] : [taken];
}

async function renewed({ store, record }: Scene, claims: readonly Claim[]): Promise<readonly Claim[]> {
  const lost = await store.renew(claims);
  record.renewed(claims);
  return lost;
}

async function released({ store, record }: Scene, { stopping }: Life, claim: Claim): Promise<void> {
  await store.release(claim);
  record.released(claim, stopping);
}

async function marked({ counts }: Scene, mark: Promise<boolean>): Promise<boolean> {
  const written = await mark;
  if (!written) counts.unmarked += 1;
  return written;
}

function wordsOf(entries: readonly Entry[]): string {
  const words = entries.map(({ run, expect, events }) => {
    const what = events.map(({ type, body }) => `${type} ${/"step_id":"([^"]*)"/.exec(body)?.[1] ?? ""}`).join("+");
    return `${run}@${expect.position}/${expect.epoch ?? "-"} ${what}`;
  });
  return words.join("; ");
}
