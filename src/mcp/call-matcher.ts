import type { Json } from "../core/values/json.ts";
import type { SessionCall } from "../engine/api/open-run-api.ts";
import { digestOfJson, digestOfParts } from "../engine/ports/digest.ts";

/** The last call of a tool with one input. */
interface LastCall {
  readonly number: number;
  readonly id: string;
  /** True: an equal request gets this call. */
  attaches: boolean;
}

/**
 * Names the calls of clients that send no call ids. A client that lost an answer repeats its request. So an equal
 * request counts as the last equal call until the answer of that call is delivered. A later request is a new call.
 */
export class CallMatcher {
  readonly #last = new Map<string, LastCall>();

  /** Starts from the calls on record. `isRead` says which tools only read: a finished read is not handed out again. */
  constructor(calls: readonly SessionCall[], isRead: (tool: string) => boolean) {
    for (const { id, tool, input, answer, delivered } of calls) {
      const key = callKeyOf(tool, input);
      const number = numberIn(id, key);
      if (number === null) continue;
      const isOver = delivered || (isFinal(answer?.status) && isRead(tool));
      this.#last.set(key, { number, id, attaches: !isOver });
    }
  }

  /** Returns the id of the call that this question is about. */
  idFor(tool: string, input: Json): string {
    const key = callKeyOf(tool, input);
    const last = this.#last.get(key);
    if (last?.attaches === true) return last.id;
    const number = (last?.number ?? 0) + 1;
    const id = `${key}-${number}`;
    this.#last.set(key, { number, id, attaches: true });
    return id;
  }

  /** The answer of the call is delivered: the next equal question is a new call. */
  end(tool: string, input: Json, id: string): void {
    this.#set(tool, input, id, false);
  }

  /** The answer was not delivered after all. */
  reopen(tool: string, input: Json, id: string): void {
    this.#set(tool, input, id, true);
  }

  #set(tool: string, input: Json, id: string, attaches: boolean): void {
    const last = this.#last.get(callKeyOf(tool, input));
    if (last?.id === id) last.attaches = attaches;
  }
}

/** True if a call with this status does not go on: its answer is the last one. */
export function isFinal(status: string | undefined): boolean {
  return status === "succeeded" || status === "failed" || status === "refused" || status === "cancelled";
}

function callKeyOf(tool: string, input: Json): string {
  return digestOfParts("mcp call", tool, digestOfJson(input)).slice(0, 32);
}

function numberIn(id: string, key: string): number | null {
  return id.startsWith(`${key}-`) ? Number(id.slice(key.length + 1)) : null;
}
