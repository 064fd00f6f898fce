import { assertValidEntry } from "../../core/store/check-entry.ts";
import { type AppendResult, type Check, type Entry, type Store, sharedTenant } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Tenant } from "../../core/values/ids.ts";
import { type AppendBatch, appendCall, type BatchClaims, createBatch } from "./append-batch.ts";
import { type AppendQueue, createAppendQueue, type QueuedEntry } from "./append-queue.ts";
import { type AppendFacts, resultsOf } from "./append-results.ts";
import { textArray } from "./binary-array.ts";
import { type FunctionCaller, SqlRefusal } from "./function-caller.ts";
import { toPostgresFault } from "./postgres-fault.ts";
import { singleEntryCall } from "./single-entry-call.ts";
import { splitByConflict } from "./split-by-conflict.ts";
import { wholeBatchCall } from "./whole-batch-call.ts";

/**
 * How often entries that lost a race are sent again. One more try is normally enough: it finds the row of the winner.
 */
const MAX_TRIES = 20;

/** True for a serialization failure or a deadlock. Nothing was written; sending the same again finds the reason. */
const isLostRace = (sqlState: string): boolean => sqlState === "40001" || sqlState === "40P01";

/** SQLSTATE of an append whose unlocked checks found a changed row. */
const ROW_CHANGED = "WR003";

const IMPOSSIBLE_VERSION = -1;

export interface AppenderOptions {
  readonly calls: FunctionCaller;
  readonly lanes: number;
  readonly where: string;
  /** The lease of a run that is claimed with its first entry. */
  lease(): Omit<BatchClaims, "workers">;
  /** Called with every entry that landed. */
  onLanded(entry: Entry): void;
}

export function createAppender(setting: AppenderOptions): Pick<Store, "append"> & Pick<AppendQueue, "idle" | "claim"> {
  const sender = new BatchSender(setting);
  const queue = createAppendQueue(setting.lanes, (batch) => sender.send(batch));
  const append = async (entry: Entry): Promise<AppendResult> => {
    const result = await queue.append(entry);
    if (result.landed) setting.onLanded(entry);
    return result;
  };
  return {
    idle: queue.idle,
    claim: queue.claim,
    append: async (entries) => {
      entries.forEach(assertValidEntry);
      const [only] = entries;
      if (only !== undefined && entries.length === 1) return [await append(only)];
      return appendInGroups(entries, append);
    },
  };
}

/** Appends each group after the one before it. The later entries of a run whose entry failed are not sent. */
async function appendInGroups(
  entries: readonly Entry[],
  append: (entry: Entry) => Promise<AppendResult>,
): Promise<readonly AppendResult[]> {
  const results: AppendResult[] = [];
  const failed = new Set<string>();
  for (const group of splitByConflict(entries)) {
    const pending = group.map(async (entry): Promise<AppendResult> => {
      const name = `${entry.tenant}\0${entry.run}`;
      if (failed.has(name)) return { landed: false, why: "earlier" };
      const result = await append(entry);
      if (!result.landed) failed.add(name);
      return result;
    });
    results.push(...(await Promise.all(pending)));
  }
  return results;
}

class BatchSender {
  readonly #calls: FunctionCaller;
  readonly #where: string;
  readonly #lease: AppenderOptions["lease"];

  constructor({ calls, where, lease }: AppenderOptions) {
    this.#calls = calls;
    this.#where = where;
    this.#lease = lease;
  }

  /** Settles every entry of the batch; never rejects. */
  async send(batch: readonly QueuedEntry[]): Promise<void> {
    try {
      await this.#send(batch);
    } catch (error) {
      const canSendSingly = batch.length > 1 && error instanceof SqlRefusal;
      for (const waiting of batch) {
        // Postgres refused the batch because of one entry; the others may still land.
        if (canSendSingly) await this.send([waiting]);
        else {
          const why = error instanceof SqlRefusal ? toPostgresFault(error.cause, this.#where) : error;
          waiting.reject(why);
          waiting.claimant?.refuse(why);
        }
      }
    }
  }

  async #send(batch: readonly QueuedEntry[]): Promise<void> {
    if (await this.#sendWhole(batch)) return;
    let unanswered = batch;
    for (let tries = 0; unanswered.length > 0; tries += 1) {
      if (tries === MAX_TRIES) throw tooManyRaces(this.#where);
      unanswered = await this.#sendTogether(unanswered);
    }
  }

  /** Returns false if the batch cannot land as a whole. Nothing was written then, and the reason is not known yet. */
  async #sendWhole(waiting: readonly QueuedEntry[]): Promise<boolean> {
    const [only] = waiting;
    const call =
      (only !== undefined && waiting.length === 1 && singleEntryCall(only.entry)) ||
      wholeBatchCall(this.#batch(waiting));
    if (call === null) return false;
    try {
      const [answer] = await this.#calls<readonly [boolean]>(call, () => true);
      if (answer?.[0] !== true) return false;
    } catch (error) {
      if (error instanceof SqlRefusal) return false;
      throw error;
    }
    for (const { resolve, claimant } of waiting) {
      resolve({ landed: true });
      claimant?.answer(true);
    }
    return true;
  }

  #batch(waiting: readonly QueuedEntry[]): AppendBatch {
    const workers = new Map(
      waiting.flatMap(({ entry, claimant }) => (claimant === null ? [] : [[entry.run, claimant.worker] as const])),
    );
    return createBatch(
      waiting.map(({ entry }) => entry),
      { workers, ...this.#lease() },
    );
  }

  /** Settles the entries whose result is known and returns the others, to be sent again. */
  async #sendTogether(waiting: readonly QueuedEntry[]): Promise<readonly QueuedEntry[]> {
    const batch = this.#batch(waiting);
    const facts = await this.#facts(batch);
    if (facts === "lost race") return waiting;
    if (facts === "row changed") return this.#withLockedChecks(waiting);
    const answers = answersByEntry(batch, facts);
    return waiting.filter(({ entry, claimant, resolve }) => {
      const answer = answers.get(entry);
      if (answer?.result == null) return true;
      resolve(answer.result);
      claimant?.answer(answer.isClaimed);
      return false;
    });
  }

  /**
   * Makes locked checks of the unlocked checks after one of them failed, so that `append` finds the first reason in the
   * common order. A locked check reads only rows of its own tenant: a changed row of the shared tenant becomes a check
   * that always fails, and an unchanged one stays unlocked.
   */
  async #withLockedChecks(waiting: readonly QueuedEntry[]): Promise<readonly QueuedEntry[]> {
    const locked: QueuedEntry[] = [];
    for (const one of waiting) {
      const checks: Check[] = [];
      for (const { glance, ...check } of one.entry.checks) {
        if (glance !== "house") checks.push(check);
        else if ((await this.#version(sharedTenant, check)) === check.was) checks.push({ ...check, glance });
        else checks.push({ ...check, was: IMPOSSIBLE_VERSION });
      }
      locked.push({ ...one, entry: { ...one.entry, checks } });
    }
    return locked;
  }

  async #version(tenant: Tenant, { table, key }: Check): Promise<number | null> {
    const values = [tenant, textArray([table]), textArray([key])];
    const [row] = await this.#calls<readonly [number, string, number, string]>({ name: "rows_of", values });
    return row?.[2] ?? null;
  }

  async #facts(batch: AppendBatch): Promise<AppendFacts | null | "lost race" | "row changed"> {
    try {
      const [answer] = await this.#calls<readonly [AppendFacts | null]>(appendCall(batch), () => true);
      return answer?.[0] ?? null;
    } catch (error) {
      if (error instanceof SqlRefusal && isLostRace(error.sqlState)) return "lost race";
      if (error instanceof SqlRefusal && error.sqlState === ROW_CHANGED) return "row changed";
      throw error;
    }
  }
}

interface EntryAnswer {
  readonly result: AppendResult | null;
  /** False if the claim of its run, if one was requested, failed. */
  readonly isClaimed: boolean;
}

function answersByEntry(batch: AppendBatch, facts: AppendFacts | null): ReadonlyMap<Entry, EntryAnswer> {
  const results = resultsOf(batch, facts);
  const answer = (index: number): EntryAnswer => ({
    result: results[index] ?? null,
    isClaimed: facts?.unclaimed?.includes(index + 1) !== true,
  });
  return new Map(batch.entries.map((entry, index) => [entry, answer(index)]));
}

function tooManyRaces(where: string): FaultError {
  return new FaultError(fault("STORE_FAILED", `${where}: the append lost ${MAX_TRIES} races in a row; try again`));
}
