import type { HandlerResult } from "../../core/decide/handler-result.ts";
import type { Notice } from "../../core/event/event.ts";
import { COST_AMOUNT_MAX, isCostAmount } from "../../core/limits/budget.ts";
import type { ResourceClosing } from "../../core/ports/resource.ts";
import type { ExternalChange } from "../../core/tool/external-change.ts";
import type { Cost } from "../../core/tool/tool.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";
import { jsonBytesAtMost, toStorableJson } from "../ports/storable-json.ts";
import type { CallPorts } from "./call-ports.ts";
import { parseExternalChange } from "./parse-external-change.ts";

/** The result of one attempt: how it ended, its cost, and the follow-up steps and notices that it asked for. */
export interface AttemptReport {
  /** False: the handler was not called. */
  readonly called: boolean;
  readonly ending: HandlerResult;
  readonly cost: Cost | null;
  readonly errands: readonly Errand[];
  readonly notices: readonly Omit<Notice, "notice_id">[];
  /** The changes that the handler made outside. */
  readonly changes: readonly ExternalChange[];
  /** The details of the last heartbeat, or null. */
  readonly heartbeat: Json | null;
  /** The resources as the handler left them; absent if it changed none. */
  readonly closings?: readonly ResourceClosing[];
}

const NONE: readonly never[] = [];

/** The report of an attempt whose handler was not called. */
export function notCalled(why: Fault): AttemptReport {
  const ending = { how: "not_done", fault: why } as const;
  return { called: false, ending, cost: null, errands: [], notices: [], changes: NONE, heartbeat: null };
}

export function hasSucceeded({ ending }: AttemptReport): boolean {
  return ending.how === "value" && ending.flaw === null;
}

/** A tool to call, or a child run to start, after the attempt has succeeded. */
interface Errand {
  readonly kind: "operator" | "run";
  readonly name: string;
  readonly payload: Json;
}

export interface CostTerms {
  /** The cost of a successful attempt that reports none, or null. */
  readonly expected: Cost | null;
}

/** Each failed attempt records its last heartbeat. */
const HEARTBEAT_BYTES = 64 * 1024;

/** Collects the reports of a running handler. */
export class AttemptLog {
  /** The error that the log last threw into the handler. */
  refusal: FaultError | null = null;
  readonly #limits: CallPorts["limits"];
  readonly #spends: boolean;
  #cost: Cost | null = null;
  /** The cost to record if the handler reports none. */
  #expected: Cost | null;
  /** Null until the first one: most handlers ask for none. */
  #errands: Errand[] | null = null;
  #notices: { topic: string; payload: Json }[] | null = null;
  #changes: ExternalChange[] | null = null;
  #heartbeat: Json | null = null;

  constructor(limits: CallPorts["limits"], spends: CostTerms | null) {
    this.#limits = limits;
    this.#spends = spends !== null;
    this.#expected = spends?.expected ?? null;
  }

  addCost(spent: Partial<Cost>): void {
    if (!this.#spends) {
      const message = "the tool reports a cost in a preview but declares none; declare its cost";
      throw this.#refused(fault("TOOL_INVALID", message));
    }
    const sum = this.#cost ?? { usd_micros: 0, credits: 0, tokens_in: 0, tokens_out: 0, model: "" };
    const add = (key: "usd_micros" | "credits" | "tokens_in" | "tokens_out") => {
      const { [key]: amount = 0 } = spent;
      if (!isCostAmount(amount) || !isCostAmount(sum[key] + amount)) {
        const message = `a cost of ${amount} ${key} is not a whole number up to ${COST_AMOUNT_MAX}; round it up`;
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
    this.#errands ??= [];
    this.#bound(this.#errands, this.#limits.errandsPerStep, "errands");
    this.#errands.push({ kind, name: String(name), payload: this.#toJson(payload) });
  }

  addNotice(topic: string, payload: Json): void {
    this.#notices ??= [];
    this.#bound(this.#notices, this.#limits.noticesPerStep, "notices");
    this.#notices.push({ topic: String(topic), payload: this.#toJson(payload) });
  }

  addChange(change: ExternalChange): void {
    const read = parseExternalChange(change);
    if ("code" in read) throw this.#refused(read);
    this.#changes ??= [];
    this.#bound(this.#changes, this.#limits.changesPerStep, "changes");
    this.#changes.push(read);
  }

  /** Refuses to record a change of a call that does not act. */
  refuseChange(tool: string): never {
    throw this.#refused(fault("TOOL_INVALID", `${tool} changes a resource outside, so its effect is acts; declare it`));
  }

  beat(details: Json | undefined): void {
    if (details === undefined) return;
    const json = this.#toJson(details);
    const most = HEARTBEAT_BYTES;
    if (jsonBytesAtMost(json) > most && Buffer.byteLength(JSON.stringify(json)) > most)
      throw this.#refused(
        fault(
          "LIMIT_EXCEEDED",
          `a heartbeat has at most ${most} bytes; store the details elsewhere and report a reference`,
        ),
      );
    this.#heartbeat = json;
  }

  #toJson(payload: Json): Json {
    const json = toStorableJson(payload);
    if (json !== undefined) return json;
    throw this.#refused(
      fault("TOOL_FAILED", "errands, notices and heartbeats must be JSON without cycles or throwing getters"),
    );
  }

  #bound(list: readonly unknown[], most: number, what: string): void {
    if (list.length >= most) throw this.#refused(fault("LIMIT_EXCEEDED", `a step has at most ${most} ${what}`));
  }

  #refused(why: Fault): FaultError {
    this.refusal = new FaultError(why);
    return this.refusal;
  }

  /** Returns the report so far. The cost is returned once: a later report has only what was added since. */
  reportWith(ending: HandlerResult): AttemptReport {
    const cost = this.#cost ?? (ending.how === "value" ? this.#expected : null);
    this.#cost = null;
    const errands = this.#errands ?? NONE;
    const notices = this.#notices ?? NONE;
    const changes = this.#changes ?? NONE;
    return { called: true, ending, cost, errands, notices, changes, heartbeat: this.#heartbeat };
  }
}
