import { randomUUID } from "node:crypto";
import type { Governed } from "../agents/governed.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";
import type { OpenRun } from "../engine/api/session-api.ts";

/** The key of a transcript of the Claude Agent SDK. */
interface TranscriptKey {
  readonly projectKey: string;
  readonly sessionId: string;
  /** The transcript of a sub-agent. */
  readonly subpath?: string;
}

/** The option `sessionStore` of the Claude Agent SDK. */
interface TranscriptStore {
  append(key: TranscriptKey, entries: readonly object[]): Promise<void>;
  load(key: TranscriptKey): Promise<object[] | null>;
  listSubkeys(key: Pick<TranscriptKey, "sessionId">): Promise<string[]>;
}

const TRANSCRIPT_TOOL = "claude.transcript";

/** How long a call waits for its entry in the transcript. Claude Code writes one after a tenth of a second. */
const RECORD_WITHIN_MS = 2000;

interface TranscriptPart {
  readonly sessionId: string;
  readonly subpath: string;
  readonly entries: readonly JsonObject[];
}

/** The transcript of the session of Claude that belongs to the session, in a run beside the session. */
export class SessionRecord implements TranscriptStore {
  readonly #run: OpenRun;
  readonly #newId = randomUUID();
  readonly #parts: TranscriptPart[] = [];
  readonly #known = new Set<Json>();
  readonly #waiting = new Set<() => void>();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(run: OpenRun) {
    this.#run = run;
  }

  static async open(governed: Governed): Promise<SessionRecord> {
    governed.declare([{ name: TRANSCRIPT_TOOL, terms: { effect: "pure" } }]);
    const record = new SessionRecord(await governed.openBeside("claude"));
    for (let number = 1; ; number += 1) {
      const found = await record.#run.findCall(String(number));
      if (found === null) return record;
      if (found.status === "succeeded") record.#add(found.output as unknown as TranscriptPart);
    }
  }

  /** The id of the session of Claude: the recorded one, or a new one. */
  get id(): string {
    return this.#parts.findLast(({ subpath }) => subpath === "")?.sessionId ?? this.#newId;
  }

  /** True if the session of Claude has begun, so that it can be resumed. */
  get hasBegun(): boolean {
    return this.#parts.length > 0;
  }

  #add(part: TranscriptPart): void {
    for (const entry of part.entries) for (const mark of marksOf(entry)) this.#known.add(mark);
    this.#parts.push(part);
    for (const wake of this.#waiting) wake();
  }

  /**
   * Waits until these calls, or their results, are in the transcript. So an answer of the model is on record before its
   * calls are made, and their results before the model is asked again.
   */
  async whenRecorded(what: "tool_use" | "tool_result", ids: readonly string[]): Promise<void> {
    const isRecorded = () => ids.every((id) => this.#known.has(`${what} ${id}`));
    if (isRecorded()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, RECORD_WITHIN_MS);
      const wake = () => {
        if (!isRecorded()) return;
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
    });
  }

  /** Batches are recorded in order. An entry that is on record is left out. */
  append({ sessionId, subpath = "" }: TranscriptKey, given: readonly object[]): Promise<void> {
    const appending = this.#last.then(async () => {
      const entries = (given as readonly JsonObject[]).filter(
        ({ uuid }) => uuid === undefined || !this.#known.has(uuid),
      );
      if (entries.length === 0) return;
      const part = { sessionId, subpath, entries };
      await recorded(this.#run, String(this.#parts.length + 1), TRANSCRIPT_TOOL, () => part);
      this.#add(part);
    });
    this.#last = appending.catch(() => {});
    return appending;
  }

  async load({ sessionId, subpath = "" }: TranscriptKey): Promise<object[] | null> {
    const parts = this.#parts.filter((part) => part.sessionId === sessionId && part.subpath === subpath);
    return parts.length === 0 ? null : (parts.flatMap(({ entries }) => entries) as object[]);
  }

  async listSubkeys({ sessionId }: Pick<TranscriptKey, "sessionId">): Promise<string[]> {
    const parts = this.#parts.filter((part) => part.sessionId === sessionId && part.subpath !== "");
    return [...new Set(parts.map(({ subpath }) => subpath))];
  }

  close(): Promise<unknown> {
    return this.#run.close();
  }
}

/** Records a value, or returns the one that is on record under this id. */
async function recorded(run: OpenRun, id: string, tool: string, value: () => Json): Promise<Json> {
  const answer = await run.callTool({ id, tool, input: {} }, { run: value });
  if (answer.status === "succeeded") return answer.output;
  throw new FaultError("fault" in answer ? answer.fault : fault("CALL_NOT_MADE", `${tool} is ${answer.status}`));
}

/** Returns the marks of an entry that is on record: its own, and those of the calls and results in it. */
function marksOf({ uuid, message }: JsonObject): readonly string[] {
  const content = isJsonObject(message ?? null) ? (message as JsonObject).content : null;
  const blocks = Array.isArray(content) ? (content as readonly JsonObject[]) : [];
  const marks = blocks.flatMap(({ type, id, tool_use_id }) =>
    type === "tool_use" || type === "tool_result" ? [`${type} ${String(id ?? tool_use_id)}`] : [],
  );
  return typeof uuid === "string" ? [uuid, ...marks] : marks;
}
