import type { CallAnswer } from "../core/run/call-answer.ts";
import { utcText } from "../core/time/utc-text.ts";
import type { Instant } from "../core/values/ids.ts";
import { isFinal } from "./call-matcher.ts";
import type { McpQuestion, McpSession } from "./mcp-session.ts";

/** How long a request about a task waits for the end of the call, before the answer says that the call still runs. */
const LOOK_MS = 100;
/** How often a request that waits for the end of a call looks again. A decision of a person is seen at once. */
const WAIT_MS = 1000;

/** The parts of a task id: the run, the call and the time at which the task was created. */
export interface TaskName {
  readonly run: string;
  readonly call: string;
  readonly createdAt: number;
}

/** Returns the id of a task. The run id in it has 80 random bits, so that no other client guesses it. */
function taskIdOf({ run, call, createdAt }: TaskName): string {
  return Buffer.from(JSON.stringify([run, call, createdAt])).toString("base64url");
}

/** Returns the parts of a task id, or null if it is none. */
export function readTaskId(id: string): TaskName | null {
  try {
    const [run, call, createdAt] = JSON.parse(Buffer.from(id, "base64url").toString("utf8")) as unknown[];
    if (typeof run !== "string" || typeof call !== "string" || !Number.isSafeInteger(createdAt)) return null;
    return { run, call, createdAt: createdAt as number };
  } catch {
    return null;
  }
}

/** A call that a client follows by a task id. The call is on record, so the task outlives this process. */
export class ServedTask {
  readonly id: string;
  readonly #question: McpQuestion;
  readonly #session: McpSession;
  readonly #name: TaskName;
  #stop: AbortController;
  readonly #now: () => Instant;
  #asking: Promise<CallAnswer> | null = null;
  #answer: CallAnswer | null = null;
  #updatedAt: number;

  constructor(
    session: McpSession,
    name: TaskName,
    question: McpQuestion,
    { stop, now }: { readonly stop: AbortController; readonly now: () => Instant },
  ) {
    this.id = taskIdOf(name);
    this.#question = question;
    this.#stop = stop;
    this.#session = session;
    this.#name = name;
    this.#now = now;
    this.#updatedAt = name.createdAt;
  }

  get question(): McpQuestion {
    return { ...this.#question, signal: this.#stop.signal };
  }

  /** The id of the call in the session. */
  get call(): string {
    return this.#name.call;
  }

  get times(): { readonly createdAt: string; readonly lastUpdatedAt: string } {
    return { createdAt: utcText(this.#name.createdAt as Instant), lastUpdatedAt: utcText(this.#updatedAt as Instant) };
  }

  /** Returns the answer of the call as it is now, or null while it runs. */
  look(): Promise<CallAnswer | null> {
    return Promise.race([this.#ask(), after(LOOK_MS)]);
  }

  /** Returns the last answer of the call: waits until it is over, or until the signal aborts. */
  async end(signal: AbortSignal): Promise<CallAnswer> {
    const gone = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    for (;;) {
      const answer = await Promise.race([this.#ask(WAIT_MS), gone]);
      if (isFinal(answer.status)) return answer;
      if (answer.status !== "held") await Promise.race([after(WAIT_MS), gone]);
    }
  }

  /** Stops the call if it runs and does not act. An act ends by itself, and a person decides about a held call. */
  stop(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  /** Asks for the answer, and waits for people for this time. */
  #ask(waitMs = 0): Promise<CallAnswer> {
    if (this.#answer !== null && isFinal(this.#answer.status)) return Promise.resolve(this.#answer);
    if (waitMs > 0) return this.#session.ask(this.question, this.call, waitMs).then((answer) => this.#learn(answer));
    this.#asking ??= this.#session
      .ask(this.question, this.call, 0)
      .then((answer) => this.#learn(answer))
      .finally(() => {
        this.#asking = null;
      });
    this.#asking.catch(() => {}); // A question that was told that the call runs does not wait for it.
    return this.#asking;
  }

  #learn(answer: CallAnswer): CallAnswer {
    if (answer.status !== this.#answer?.status) this.#updatedAt = Math.max(this.#updatedAt, this.#now());
    this.#answer = answer;
    return answer;
  }
}

function after(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ms, null).unref());
}
