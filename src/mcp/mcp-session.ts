import { isConfirmation } from "../core/approval/approval-demand.ts";
import type { CallAnswer } from "../core/run/call-answer.ts";
import { FaultError } from "../core/values/fault.ts";
import type { JsonObject } from "../core/values/json.ts";
import type { Engine } from "../engine/api/engine-api.ts";
import type { OpenRun, OpenRunOptions } from "../engine/api/open-run-api.ts";
import { CallMatcher } from "./call-matcher.ts";

/** A question of a client: one request to call a tool. */
export interface McpQuestion {
  /** The name of the tool in Writ. */
  readonly tool: string;
  readonly input: JsonObject;
  /** The id that the client gave the call, if its protocol has one. */
  readonly id: string | null;
  /** The client, as it names itself. */
  readonly client: string;
  readonly signal: AbortSignal;
  /** The trace that the client makes the call in, or null. */
  readonly traceparent?: string | null;
}

export interface McpSessionOptions extends Omit<OpenRunOptions, "session"> {
  readonly session: string;
  /** True for a tool that only reads. */
  isRead(tool: string): boolean;
}

/** How long a delivery waits for others before it is recorded. They share a transaction, beside the next calls. */
const DELIVERY_MS = 10;

/** The most sessions of one name that processes hold at the same time. */
const MAX_SESSIONS = 64;

/** The open run of an MCP client, whose questions carry no call ids. */
export class McpSession {
  readonly run: OpenRun;
  readonly #matcher: CallMatcher;
  readonly #isRead: McpSessionOptions["isRead"];
  /** The calls whose answers were sent and are not recorded as delivered yet, with the client that has each. */
  readonly #sent = new Map<string, string>();
  #recording: Promise<void> | null = null;

  private constructor(run: OpenRun, matcher: CallMatcher, isRead: McpSessionOptions["isRead"]) {
    this.run = run;
    this.#matcher = matcher;
    this.#isRead = isRead;
  }

  /**
   * Opens the first session of this name that no other process holds: one gateway for each window of an editor uses one
   * store. A gateway that starts again finds the session that its predecessor left.
   */
  static async open(engine: Engine, { isRead, session, ...options }: McpSessionOptions): Promise<McpSession> {
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? session : `${session}-${number}`;
      try {
        const run = await engine.openRun({ ...options, session: name, waitMs: 0 });
        const calls = (await run.turns()).flatMap((turn) => turn.calls);
        return new McpSession(run, new CallMatcher(calls, isRead), isRead);
      } catch (error) {
        const isHeld = error instanceof FaultError && error.fault.code === "SESSION_BUSY";
        if (!isHeld || number === MAX_SESSIONS) throw error;
      }
    }
  }

  /** Returns the id of the call that a question is about. It is the same until the answer was delivered. */
  idOf({ tool, input, id }: McpQuestion): string {
    return id ?? this.#matcher.idFor(tool, input);
  }

  /** Proposes the call, or finds it, and waits for people for `waitMs`. */
  ask({ tool, input, signal, traceparent = null }: McpQuestion, id: string, waitMs: number): Promise<CallAnswer> {
    const trace = traceparent === null ? {} : { traceId: traceparent };
    return this.run.callTool({ id, tool, input }, { signal, waitMs, ...trace });
  }

  /** Records that the client confirmed the call. That meets a demand for a confirmation only. */
  confirm(question: McpQuestion, id: string): Promise<void> {
    return this.run.confirmCall(id, { reason: `confirmed in ${question.client} (elicitation)` });
  }

  /** The last answer of the call goes to the client: from now on, an equal question of this client is a new call. */
  endQuestion({ tool, input }: McpQuestion, id: string): void {
    this.#matcher.end(tool, input, id);
  }

  /** The client went away before the answer was sent: an equal question is about this call again. */
  reopenQuestion({ tool, input }: McpQuestion, id: string): void {
    this.#matcher.reopen(tool, input, id);
  }

  /**
   * Records that the answer was sent. It is recorded after that: if the process dies in between, an equal question gets
   * the same answer, and no act is repeated. A finished read is never handed out again, so it needs no record.
   */
  async recordDelivery({ tool, client }: McpQuestion, id: string): Promise<void> {
    if (this.#isRead(tool)) return;
    this.#sent.set(id, client);
    this.#recording ??= new Promise((resolve) => setTimeout(resolve, DELIVERY_MS)).then(() => this.#recordSent());
    await this.#recording;
  }

  async #recordSent(): Promise<void> {
    this.#recording = null;
    const sent = [...this.#sent];
    this.#sent.clear();
    await Promise.all(sent.map(([id, to]) => this.run.markDelivered(id, { to })));
  }

  /** Records the deliveries that are left, and gives the run to other processes. */
  async release(): Promise<void> {
    await this.#recordSent();
    await this.run.release();
  }
}

/** True if a held call asks for nothing but a confirmation, which a client may give. */
export function isConfirmable(answer: CallAnswer): boolean {
  return answer.status === "held" && isConfirmation(answer.gate.demand);
}
