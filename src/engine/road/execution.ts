import type { Ending } from "../../core/command.ts";
import type { Notice } from "../../core/event.ts";
import { type Fault, FaultError, fault } from "../../core/fault.ts";
import type { Json } from "../../core/json/json.ts";
import { AMOUNT_MOST, isAmount } from "../../core/limits/budget.ts";
import type { Closing } from "../../core/resource.ts";
import type { Cost } from "../../core/tool.ts";
import type { Ports } from "../ports.ts";
import { bytesAtMost, written } from "./keep.ts";

/** What one attempt of a handler left: how it ended, what it cost, and what it wants done afterwards. */
export interface Execution {
  readonly ending: Ending;
  readonly cost: Cost | null;
  readonly errands: readonly Errand[];
  readonly notices: readonly Omit<Notice, "notice_id">[];
  /** What it last said with a sign of life; null: nothing. */
  readonly heartbeat: Json | null;
  /** What it left in resources; absent: it changed none. */
  readonly closings?: readonly Closing[];
}

/** A tool to be called, or a run to be started, when the attempt has succeeded. */
interface Errand {
  readonly kind: "operator" | "run";
  readonly name: string;
  readonly payload: Json;
}

export interface Spends {
  /** What it has cost if it answers and says nothing of that; null: nothing. */
  readonly expected: Cost | null;
}

/** It is on record with each attempt that fails. */
const HEARTBEAT_BYTES = 64 * 1024;

/** What a handler reports while it runs. */
export class Log {
  /** What it last threw at the handler. */
  refusal: FaultError | null = null;
  readonly #limits: Ports["limits"];
  readonly #spends: boolean;
  #cost: Cost | null = null;
  /** What stands in for a cost that the handler never tells. */
  #expected: Cost | null;
  readonly #errands: Errand[] = [];
  readonly #notices: { topic: string; payload: Json }[] = [];
  #heartbeat: Json | null = null;

  constructor(limits: Ports["limits"], spends: Spends | null) {
    this.#limits = limits;
    this.#spends = spends !== null;
    this.#expected = spends?.expected ?? null;
  }

  addCost(spent: Partial<Cost>): void {
    if (!this.#spends) {
      const message = "it spends, and its tool declares no cost: what it would do is not known before it is approved";
      throw this.#refused(fault("TOOL_INVALID", message));
    }
    const sum = this.#cost ?? { usd_micros: 0, credits: 0, tokens_in: 0, tokens_out: 0, model: "" };
    const add = (key: "usd_micros" | "credits" | "tokens_in" | "tokens_out") => {
      const amount = spent[key] ?? 0;
      if (!isAmount(amount) || !isAmount(sum[key] + amount)) {
        const message = `a cost of ${amount} ${key} is not a whole number up to ${AMOUNT_MOST}; round it up`;
        throw this.#refused(fault("TOOL_FAILED", message));
      }
      return sum[key] + amount;
    };
    this.#cost = {
      usd_micros: add("usd_micros"),
      credits: add("credits"),
      tokens_in: add("tokens_in"),
      tokens_out: add("tokens_out"),
      model: spent.model ?? sum.model,
    };
    this.#expected = null;
  }

  addErrand({ kind, name, payload }: Errand): void {
    this.#bound(this.#errands, this.#limits.errandsPerStep, "errands");
    this.#errands.push({ kind, name: String(name), payload: this.#said(payload) });
  }

  addNotice(topic: string, payload: Json): void {
    this.#bound(this.#notices, this.#limits.noticesPerStep, "notices");
    this.#notices.push({ topic: String(topic), payload: this.#said(payload) });
  }

  beat(details: Json | undefined): void {
    if (details === undefined) return;
    const said = this.#said(details);
    const most = HEARTBEAT_BYTES;
    if (bytesAtMost(said) > most && Buffer.byteLength(JSON.stringify(said)) > most)
      throw this.#refused(fault("LIMIT_EXCEEDED", `a heartbeat says at most ${most} bytes; say where to look instead`));
    this.#heartbeat = said;
  }

  #said(payload: Json): Json {
    const said = written(payload);
    if (said !== undefined) return said;
    throw this.#refused(fault("TOOL_FAILED", "what is said must be JSON, and neither contain itself nor throw"));
  }

  #bound(list: readonly unknown[], most: number, what: string): void {
    if (list.length >= most) throw this.#refused(fault("LIMIT_EXCEEDED", `a step leaves at most ${most} ${what}`));
  }

  #refused(why: Fault): FaultError {
    this.refusal = new FaultError(why);
    return this.refusal;
  }

  /** What was reported so far. Cost is handed over once: what is told later is what came later. */
  with(ending: Ending): Execution {
    const cost = this.#cost ?? (ending.how === "value" ? this.#expected : null);
    this.#cost = null;
    return { ending, cost, errands: this.#errands, notices: this.#notices, heartbeat: this.#heartbeat };
  }
}
