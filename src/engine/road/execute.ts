import type { Ending } from "../../core/command.ts";
import { type Fault, FaultError, fault } from "../../core/fault.ts";
import type { Instant, RunId, StepId } from "../../core/id.ts";
import { isObject, type Json, type JsonObject } from "../../core/json/json.ts";
import { randomFrom } from "../../core/persistent/random.ts";
import type { Tool, ToolContext } from "../../core/tool.ts";
import type { Desk } from "../desk/desk.ts";
import type { Borrowed } from "../desk/resources.ts";
import type { Ports } from "../ports.ts";
import { type Execution, Log, type Spends } from "./execution.ts";
import { bytesAtMost, redacted, storable } from "./keep.ts";
import { textOf, thrown } from "./thrown.ts";
import type { TimeLimit } from "./time-limit.ts";

export interface Work extends TimeLimit {
  readonly tool: Tool;
  readonly handler: (context: ToolContext) => Promise<unknown>;
  readonly context: Omit<
    ToolContext,
    | "clock"
    | "cost"
    | "errand"
    | "child"
    | "notice"
    | "heartbeat"
    | "signal"
    | "slice"
    | "dispatch"
    | "resource"
    | "random"
  >;
  /** Null: there is no state to work on. */
  readonly desk: Desk | null;
  /** Null: it changes no resource. */
  readonly borrowed: Borrowed | null;
  /** Outputs of a compensation are its own business. */
  readonly checked: boolean;
  /** Null: it may not, because it was not allowed yet. */
  readonly spends: Spends | null;
}

/** A handler at work. */
export interface Running {
  /** Resolves when the attempt is over for the road: an answer, an error, a timeout or an abort. */
  readonly over: Promise<Execution>;
  /** Over for the road, though the handler is still there. */
  readonly overdue: boolean;
  abort(why: Fault): void;
}

/** Runs a handler. Never throws: whatever happens is an ending. `gone` hears when the handler is really gone, and what it still said. */
export function execute(ports: Ports, work: Work, gone: (late: Execution | null) => void): Running {
  const attempt = new Attempt(ports, work, gone);
  attempt.begin();
  return attempt;
}

const nothing = (): void => {};

class Attempt implements Running {
  readonly over: Promise<Execution>;
  readonly #ports: Ports;
  readonly #work: Work;
  readonly #gone: (late: Execution | null) => void;
  readonly #log: Log;
  /** Made when the handler first asks for its signal: most never do. */
  #controller: AbortController | null = null;
  #aborted: FaultError | null = null;
  #resolve: (execution: Execution) => void = nothing;
  #disarm = nothing;
  #disarmHeart = nothing;
  #heardAt: Instant;
  #over = false;
  #answered = false;

  constructor(ports: Ports, work: Work, gone: (late: Execution | null) => void) {
    this.#ports = ports;
    this.#work = work;
    this.#gone = gone;
    this.#log = new Log(ports.limits, work.spends);
    this.#heardAt = work.context.now;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get overdue(): boolean {
    return this.#over && !this.#answered;
  }

  begin(): void {
    const { tool, timeoutMs } = this.#work;
    this.#disarm = this.#ports.timers.after(timeoutMs, () => this.abort(outOfTime(this.#work)));
    if (tool.heartbeatMs !== null) {
      this.#heardAt = this.#ports.clock.now();
      this.#listen(tool.heartbeatMs);
    }
    void this.#answer();
  }

  heard(details: Json | undefined): void {
    this.#heardAt = this.#ports.clock.now();
    this.#log.beat(details);
  }

  /** One timer, however often it is heard of. */
  #listen(ms: number): void {
    const { clock, timers } = this.#ports;
    const ring = () => {
      if (clock.now() - this.#heardAt < ms) return this.#listen(ms);
      const why = `${this.#work.tool.name} gave no sign of life for ${ms} ms`;
      return this.abort(fault("TOOL_TIMEOUT", why));
    };
    this.#disarmHeart = timers.after(Math.max(1, this.#heardAt + ms - clock.now()), ring);
  }

  abort(why: Fault): void {
    if (!this.#over) this.#end({ how: "unheard", fault: why });
    this.#aborted ??= new FaultError(why);
    this.#controller?.abort(this.#aborted);
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#aborted !== null) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  async #answer(): Promise<void> {
    let value: unknown;
    let failure: Ending | null = null;
    try {
      value = await this.#work.handler(new Context(this.#work, this, this.#log, this.#ports));
    } catch (error) {
      failure = this.#failure(error);
    }
    const ending = failure ?? this.#valued(value);
    const late = this.#over;
    this.#answered = true;
    if (!late) this.#end(ending);
    this.#gone(late ? this.#log.with(ending) : null);
  }

  /** Reading an answer may run code of whoever made it: what throws there has answered, and nobody can say what. */
  #valued(value: unknown): Ending {
    try {
      return valued(this.#ports, this.#work, value);
    } catch (error) {
      const message = `${this.#work.tool.name}: its answer cannot be read: ${textOf(error)}`;
      return { how: "value", output: null, flaw: fault("SCHEMA_VALIDATION_FAILED", message) };
    }
  }

  /** What we refused to note down says nothing about what the tool had done by then. */
  #failure(error: unknown): Ending {
    const { refusal } = this.#log;
    return refusal !== null && error === refusal ? { how: "unheard", fault: refusal.fault } : thrown(error);
  }

  #end(ending: Ending): void {
    this.#over = true;
    this.#disarm();
    this.#disarmHeart();
    this.#resolve(this.#log.with(ending));
  }
}

/**
 * What a handler is given. Its signal is a property of its own, so that a copy has it, and has one getter for all: a literal
 * with a getter makes one for each, which takes five times as long and three times the room.
 */
class Context implements ToolContext {
  static readonly #signal: PropertyDescriptor & ThisType<Context> = {
    enumerable: true,
    get() {
      return this.#attempt.signal;
    },
  };

  readonly key: ToolContext["key"];
  readonly run_id: RunId;
  readonly plan_id: string | null;
  readonly step_id: StepId;
  readonly attempt: number;
  readonly correlation_id: string;
  readonly trace_id: string;
  declare readonly signal: AbortSignal;
  readonly now: Instant;
  readonly clock: ToolContext["clock"];
  readonly last_heartbeat: Json | null;
  readonly heartbeat: ToolContext["heartbeat"];
  readonly cost: ToolContext["cost"];
  readonly errand: ToolContext["errand"];
  readonly child: ToolContext["child"];
  readonly notice: ToolContext["notice"];
  readonly slice: ToolContext["slice"];
  readonly dispatch: ToolContext["dispatch"];
  readonly resource: ToolContext["resource"];
  readonly random: ToolContext["random"];
  readonly #attempt: Attempt;

  constructor({ context: given, desk, borrowed }: Work, attempt: Attempt, log: Log, { clock, seed }: Ports) {
    this.key = given.key;
    this.run_id = given.run_id;
    this.plan_id = given.plan_id;
    this.step_id = given.step_id;
    this.attempt = given.attempt;
    this.correlation_id = given.correlation_id;
    this.trace_id = given.trace_id;
    this.now = given.now;
    this.clock = clock;
    this.last_heartbeat = given.last_heartbeat;
    this.heartbeat = (details) => attempt.heard(details);
    this.cost = (spent) => log.addCost(spent);
    this.errand = (name, payload) => log.addErrand({ kind: "operator", name, payload });
    this.child = (plan, context = {}) => log.addErrand({ kind: "run", name: "run", payload: { plan, context } });
    this.notice = (topic, payload) => log.addNotice(topic, payload);
    this.slice = (slice) => deskFor(desk).slice(slice) as never;
    this.dispatch = (event, payload) => deskFor(desk).dispatch(event, payload);
    this.resource = (name) => borrowedBy(borrowed).handle(name) as never;
    this.random = randomOf(given, seed);
    this.#attempt = attempt;
    Object.defineProperty(this, "signal", Context.#signal);
  }
}

function outOfTime({ tool, timeoutMs, lastOfRun }: Work): Fault {
  if (lastOfRun) return fault("DEADLINE_EXCEEDED", `the deadline of the run passed while ${tool.name} was at work`);
  return fault("TOOL_TIMEOUT", `${tool.name} did not answer within ${timeoutMs} ms`);
}

function deskFor(desk: Desk | null): Desk {
  if (desk !== null) return desk;
  throw new FaultError(fault("STATE_FORBIDDEN", "this engine has no slices; give them to createEngine"));
}

function borrowedBy(borrowed: Borrowed | null): Borrowed {
  if (borrowed !== null) return borrowed;
  throw new FaultError(fault("STATE_FORBIDDEN", "the tool has declared no resource"));
}

/** Derived from the call, so that nothing of it needs to be recorded. */
function randomOf({ run_id, step_id, attempt }: Work["context"], seed: string): () => number {
  let next: (() => number) | null = null;
  return () => {
    next ??= randomFrom(`${seed}${run_id}/${step_id}/${attempt}`);
    return next();
  };
}

function valued(ports: Ports, { tool, checked }: Work, value: unknown): Ending {
  const refusal = isObject(value as Json) ? refusalIn(value as JsonObject) : null;
  if (refusal !== null) return { how: "error", fault: fault("TOOL_FAILED", `${tool.name} answered ${refusal}`) };
  const parsed = checked ? tool.output.parse(value) : { ok: true as const, value: storable(value) };
  const raw = parsed.ok ? parsed.value : storable(value);
  const most = ports.limits.outputBytes;
  const bytes = bytesAtMost(raw) <= most ? 0 : Buffer.byteLength(JSON.stringify(raw));
  if (bytes > most) {
    const message = `${tool.name} answered ${bytes} bytes, the limit is ${most}; return a reference instead`;
    return { how: "value", output: null, flaw: fault("LIMIT_EXCEEDED", message) };
  }
  const output = redacted(raw, tool);
  if (parsed.ok) return { how: "value", output, flaw: null };
  return {
    how: "value",
    output,
    flaw: fault(
      "SCHEMA_VALIDATION_FAILED",
      `${tool.name}: its answer does not fit its output schema: ${parsed.fault.message}`,
    ),
  };
}

/** An answer that says itself that it is a failure: `success: false`, or `isError` as MCP has it. */
function refusalIn({ success, isError, error, message, content }: JsonObject): string | null {
  if (success !== false && isError !== true) return null;
  const [first] = Array.isArray(content) ? (content as readonly Json[]) : [];
  const said = error ?? message ?? (isObject(first) ? first.text : undefined);
  const what = success === false ? "success: false" : "isError";
  return typeof said === "string" ? `${what}, ${said.slice(0, 2000)}` : what;
}
