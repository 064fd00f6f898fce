import type { Instant } from "../core/values/ids.ts";
import type { JsonObject } from "../core/values/json.ts";
import type { SessionCall } from "../engine/api/open-run-api.ts";
import { isFinal } from "./call-matcher.ts";
import type { McpQuestion, McpSession } from "./mcp-session.ts";
import { readTaskId, ServedTask, type TaskName } from "./served-task.ts";

/** The most tasks of a session that a process knows. The oldest one is looked up in the record again. */
const MAX_TASKS = 1000;

/** The tasks of the session of a client. Connections of one client share them. */
export class SessionTasks {
  static readonly #all = new WeakMap<McpSession, SessionTasks>();
  readonly #session: McpSession;
  readonly #now: () => Instant;
  readonly #tasks = new Map<string, ServedTask>();

  constructor(session: McpSession, now: () => Instant) {
    this.#session = session;
    this.#now = now;
  }

  static of(session: McpSession, now: () => Instant): SessionTasks {
    const known = SessionTasks.#all.get(session) ?? new SessionTasks(session, now);
    SessionTasks.#all.set(session, known);
    return known;
  }

  /** Returns the task of a call that is on record: an earlier one of the same call, or a new one. */
  create(question: McpQuestion, call: string, stop: AbortController): ServedTask {
    const known = [...this.#tasks.values()].find((task) => task.call === call);
    return known ?? this.#add({ run: this.#session.run.run_id, call, createdAt: this.#now() }, question, stop);
  }

  #add(name: TaskName, question: McpQuestion, stop = new AbortController()): ServedTask {
    const task = new ServedTask(this.#session, name, question, { stop, now: this.#now });
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size >= MAX_TASKS && oldest !== undefined) this.#tasks.delete(oldest);
    this.#tasks.set(task.id, task);
    return task;
  }

  /** Returns the task with this id, also one of a process that is gone, or null if the session has none. */
  async find(id: string, client: string): Promise<ServedTask | null> {
    const known = this.#tasks.get(id);
    if (known !== undefined) return known;
    const name = readTaskId(id);
    if (name === null || name.run !== this.#session.run.run_id) return null;
    const call = (await this.#calls()).find((each) => each.id === name.call);
    return call === undefined ? null : this.#add(name, questionOf(call, client));
  }

  /** Returns the tasks that this process knows, and those of calls on record whose answer no client has. */
  async list(client: string): Promise<readonly ServedTask[]> {
    const run = this.#session.run.run_id;
    const known = new Set(Array.from(this.#tasks.values(), ({ call }) => call));
    for (const call of await this.#calls()) {
      const isOpen = !call.delivered && !(call.answer !== null && isFinal(call.answer.status));
      if (isOpen && !known.has(call.id))
        this.#add({ run, call: call.id, createdAt: this.#now() }, questionOf(call, client));
    }
    return [...this.#tasks.values()];
  }

  async #calls(): Promise<readonly SessionCall[]> {
    return (await this.#session.run.turns()).flatMap(({ calls }) => calls);
  }
}

function questionOf({ id, tool, input }: SessionCall, client: string): McpQuestion {
  return { tool, input: input as JsonObject, id, client, signal: new AbortController().signal };
}
