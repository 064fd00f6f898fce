import { randomUUID } from "node:crypto";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Json, JsonObject } from "../core/values/json.ts";
import type { OpenRun } from "../engine/api/open-run-api.ts";
import type { Governed } from "./governed.ts";

/** The key of a transcript that a host keeps. */
interface TranscriptKey {
  readonly projectKey: string;
  readonly sessionId: string;
  /** The transcript of a sub-agent. */
  readonly subpath?: string;
}

/** The host whose transcript is recorded. */
interface TranscriptHost {
  /** The name of the host, and of the run beside the session. */
  readonly name: string;
  /** The name of the tool on record whose calls are the parts of the transcript. */
  readonly recordTool: string;
  /** Returns the marks that show whether an entry is recorded. The id of the entry is one of them. */
  marksOf(entry: JsonObject): readonly string[];
}

/** How long a call waits for its entry in the transcript. Claude Code writes one after a tenth of a second. */
const RECORD_WITHIN_MS = 2000;

interface TranscriptPart {
  readonly sessionId: string;
  readonly subpath: string;
  readonly entries: readonly JsonObject[];
}

/** The transcript that a host keeps of the session, in a run beside the session. A killed program goes on from it. */
export class TranscriptRecord {
  readonly #run: OpenRun;
  readonly #host: TranscriptHost;
  readonly #newId = randomUUID();
  readonly #parts: TranscriptPart[] = [];
  readonly #known = new Set<Json>();
  readonly #waiting = new Set<() => void>();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(run: OpenRun, host: TranscriptHost) {
    this.#run = run;
    this.#host = host;
  }

  static async open(governed: Governed, host: TranscriptHost): Promise<TranscriptRecord> {
    governed.declare([{ name: host.recordTool, terms: { effect: "pure" } }]);
    const record = new TranscriptRecord(await governed.openBeside(host.name), host);
    for (let number = 1; ; number += 1) {
      const found = await record.#run.findCall(String(number));
      if (found === null) return record;
      if (found.status === "succeeded") record.#add(found.output as unknown as TranscriptPart);
    }
  }

  /** The id of the session of the host: the recorded one, or a new one. */
  get id(): string {
    return this.#parts.findLast(({ subpath }) => subpath === "")?.sessionId ?? this.#newId;
  }

  /** True if the session of the host has begun, so that it can be resumed. */
  get hasBegun(): boolean {
    return this.#parts.length > 0;
  }

  #add(part: TranscriptPart): void {
    for (const entry of part.entries) for (const mark of this.#host.marksOf(entry)) this.#known.add(mark);
    this.#parts.push(part);
    for (const wake of this.#waiting) wake();
  }

  /**
   * Waits until entries with these marks are in the transcript. So an answer of the model is on record before its calls
   * are made, and their results before the model is asked again.
   */
  async whenRecorded(marks: readonly string[]): Promise<void> {
    const isRecorded = () => marks.every((mark) => this.#known.has(mark));
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
      await recorded(this.#run, String(this.#parts.length + 1), this.#host.recordTool, () => part);
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
