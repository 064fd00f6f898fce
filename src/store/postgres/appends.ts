import { FaultError, fault } from "../../core/fault.ts";
import type { Tenant } from "../../core/id.ts";
import { assertSound } from "../../core/judge.ts";
import { type Check, type Entry, house, type Landing, type Store } from "../../core/store.ts";
import { type Batch, batchCall, batchOf, type Claims } from "./batch.ts";
import { texts } from "./binary-array.ts";
import { type Calls, Refusal } from "./calls.ts";
import { type GroupCommit, groupCommit, type Waiting } from "./group-commit.ts";
import { type Facts, landingsOf } from "./landings.ts";
import { failed } from "./postgres-fault.ts";
import { singleCall } from "./single.ts";
import { wavesOf } from "./waves.ts";
import { wholeCall } from "./whole.ts";

/** Two entries that want to be new at the same place meet once; who meets again and again is told. */
const MOST_TRIES = 20;

/** What a transaction says that lost a race and left nothing behind: the same again finds out why. */
const raced = (sqlState: string): boolean => sqlState === "40001" || sqlState === "40P01";

/** What was glanced at is not what it was. */
const GLANCED = "WR003";

const NOBODYS = -1;

export interface AppendSetting {
  readonly calls: Calls;
  readonly lanes: number;
  readonly where: string;
  /** For how long a run is claimed with the entry that begins it, and by whose time. */
  lease(): Omit<Claims, "workers">;
  /** Is told of every entry that landed. */
  landed(entry: Entry): void;
}

export function appends(setting: AppendSetting): Pick<Store, "append"> & Pick<GroupCommit, "idle" | "claim"> {
  const sending = new Sending(setting);
  const group = groupCommit(setting.lanes, (batch) => sending.send(batch));
  const append = async (entry: Entry): Promise<Landing> => {
    const landing = await group.append(entry);
    if (landing.landed) setting.landed(entry);
    return landing;
  };
  return {
    idle: group.idle,
    claim: group.claim,
    append: async (entries) => {
      entries.forEach(assertSound);
      const [only] = entries;
      if (only !== undefined && entries.length === 1) return [await append(only)];
      return inWaves(entries, append);
    },
  };
}

/** Each wave waits for the one before; the later entries of a run whose entry failed are not even sent. */
async function inWaves(
  entries: readonly Entry[],
  append: (entry: Entry) => Promise<Landing>,
): Promise<readonly Landing[]> {
  const landings: Landing[] = [];
  const failed = new Set<string>();
  for (const wave of wavesOf(entries)) {
    const answers = wave.map(async (entry): Promise<Landing> => {
      const name = `${entry.tenant}\0${entry.run}`;
      if (failed.has(name)) return { landed: false, why: "earlier" };
      const landing = await append(entry);
      if (!landing.landed) failed.add(name);
      return landing;
    });
    landings.push(...(await Promise.all(answers)));
  }
  return landings;
}

class Sending {
  readonly #calls: Calls;
  readonly #where: string;
  readonly #lease: AppendSetting["lease"];

  constructor({ calls, where, lease }: AppendSetting) {
    this.#calls = calls;
    this.#where = where;
    this.#lease = lease;
  }

  /** Answers everyone; never rejects. */
  async send(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#send(batch);
    } catch (error) {
      const isHopeless = batch.length === 1 || !(error instanceof Refusal);
      for (const waiting of batch) {
        // Postgres refused the batch for one of them; the others must not pay for it.
        if (!isHopeless) await this.send([waiting]);
        else {
          const why = error instanceof Refusal ? failed(error.cause, this.#where) : error;
          waiting.reject(why);
          waiting.claimant?.refuse(why);
        }
      }
    }
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    if (await this.#sendWhole(batch)) return;
    let left = batch;
    for (let tries = 0; left.length > 0; tries += 1) {
      if (tries === MOST_TRIES) throw tooManyRaces(this.#where);
      left = await this.#sendTogether(left);
    }
  }

  /** False: not all of it can land, nothing has, and why is not known yet. */
  async #sendWhole(waiting: readonly Waiting[]): Promise<boolean> {
    const [only] = waiting;
    const call =
      (only !== undefined && waiting.length === 1 && singleCall(only.entry)) || wholeCall(this.#batch(waiting));
    if (call === null) return false;
    try {
      const [answer] = await this.#calls<readonly [boolean]>(call, () => true);
      if (answer?.[0] !== true) return false;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
    for (const { resolve, claimant } of waiting) {
      resolve({ landed: true });
      claimant?.answer(true);
    }
    return true;
  }

  #batch(waiting: readonly Waiting[]): Batch {
    const workers = new Map(
      waiting.flatMap(({ entry, claimant }) => (claimant === null ? [] : [[entry.run, claimant.worker] as const])),
    );
    return batchOf(
      waiting.map(({ entry }) => entry),
      { workers, ...this.#lease() },
    );
  }

  /** Answers those it can and returns the others, to be sent again. */
  async #sendTogether(waiting: readonly Waiting[]): Promise<readonly Waiting[]> {
    const batch = this.#batch(waiting);
    const facts = await this.#facts(batch);
    if (facts === "raced") return waiting;
    if (facts === "glanced") return this.#staring(waiting);
    const answers = answersOf(batch, facts);
    return waiting.filter(({ entry, claimant, resolve }) => {
      const answer = answers.get(entry);
      if (answer?.landing == null) return true;
      resolve(answer.landing);
      claimant?.answer(answer.isClaimed);
      return false;
    });
  }

  /**
   * What was glanced at is not what it was. The entries are judged like any other, so that an earlier reason comes first: of
   * the tenant by the row itself, of the house by one that nobody has, unless the house is as it was.
   */
  async #staring(waiting: readonly Waiting[]): Promise<readonly Waiting[]> {
    const stared: Waiting[] = [];
    for (const one of waiting) {
      const checks: Check[] = [];
      for (const { glance, ...check } of one.entry.checks) {
        if (glance !== "house") checks.push(check);
        else if ((await this.#version(house, check)) === check.was) checks.push({ ...check, glance });
        else checks.push({ ...check, was: NOBODYS });
      }
      stared.push({ ...one, entry: { ...one.entry, checks } });
    }
    return stared;
  }

  async #version(tenant: Tenant, { table, key }: Check): Promise<number | null> {
    const values = [tenant, texts([table]), texts([key])];
    const [row] = await this.#calls<readonly [number, string, number, string]>({ name: "rows_of", values });
    return row?.[2] ?? null;
  }

  async #facts(batch: Batch): Promise<Facts | null | "raced" | "glanced"> {
    try {
      const [answer] = await this.#calls<readonly [Facts | null]>(batchCall(batch), () => true);
      return answer?.[0] ?? null;
    } catch (error) {
      if (error instanceof Refusal && raced(error.sqlState)) return "raced";
      if (error instanceof Refusal && error.sqlState === GLANCED) return "glanced";
      throw error;
    }
  }
}

/** Of each entry; whether its run is claimed is for whoever asked for it. */
interface Answer {
  readonly landing: Landing | null;
  readonly isClaimed: boolean;
}

function answersOf(batch: Batch, facts: Facts | null): ReadonlyMap<Entry, Answer> {
  const landings = landingsOf(batch, facts);
  const answer = (index: number): Answer => ({
    landing: landings[index] ?? null,
    isClaimed: facts?.unclaimed?.includes(index + 1) !== true,
  });
  return new Map(batch.entries.map((entry, index) => [entry, answer(index)]));
}

function tooManyRaces(where: string): FaultError {
  return new FaultError(fault("STORE_FAILED", `${where}: others were faster ${MOST_TRIES} times in a row; try again`));
}
