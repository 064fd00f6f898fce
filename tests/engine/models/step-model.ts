/**
 * A model of the steps of one run (design, section 5): their states, and how the end of one step moves the others. It has
 * no events, versions, digests or counters; the states of all steps decide what a step may do.
 */
export type ModelStepState =
  | ("pending" | "ready" | "waiting_approval" | "waiting" | "running" | "succeeded" | "failed_retryable")
  | ("failed_final" | "in_doubt" | "rejected" | "skipped" | "cancelled")
  | ("compensating" | "compensated" | "compensation_failed");

type Row = null | "started" | "committed" | "in_doubt" | "not_done" | "absent" | "given_up" | Undoing;
type Undoing = "compensating" | "compensated" | "compensation_failed";

/** The declaration of a step in a plan. */
export interface PlanShape {
  readonly kind: "acts" | "reads" | "wait";
  readonly needs: readonly string[];
  readonly gated: boolean;
  readonly onFailure: "abort" | "skip";
  readonly onRejected: "stop" | "continue";
  readonly tries: number;
  readonly undoable: boolean;
  readonly safeIfAbsent: boolean;
}

export interface ModelStep extends PlanShape {
  readonly id: string;
  readonly undoes: string | null;
  state: ModelStepState;
  row: Row;
  attempts: number;
  forgiven: number;
  flight: number; // the last attempt without a recorded start
  isDue: boolean; // the time it waits for has come
  approved: boolean;
  unusable: boolean; // it acted, and its output does not fit the schema
}

export interface AllowedMove {
  readonly attempt: number;
  readonly recorded: boolean;
}

export type MoveOutcome = "value" | "misfit" | "not done" | "error" | "unheard";

export class StepModel {
  readonly nodes = new Map<string, ModelStep>();
  /** False: an agent proposes the steps. */
  hasPlan = true;
  open = false;
  closed = false;
  cancelled = false;
  stopped = false;

  /** Adds a step that an agent proposes. Its failure ends no other step. */
  propose(id: string, shape: PlanShape): void {
    if (this.open) this.add(id, { ...shape, onFailure: "skip", onRejected: "continue" });
  }

  add(id: string, shape: PlanShape, undoes: string | null = null): void {
    if (this.nodes.has(id)) return;
    const fresh = { row: null, attempts: 0, forgiven: 0, flight: 0, isDue: true, approved: false, unusable: false };
    const node: ModelStep = { ...shape, ...fresh, id, undoes, state: "pending" };
    this.nodes.set(id, node);
    if (this.#stands(node.needs)) this.#reopen(node);
  }

  /** Returns the attempt if it may execute, or null. */
  start(node: ModelStep, how: "well" | "no tool" | "bad input"): AllowedMove | null {
    if (!isStartable(node)) return null;
    if (node.undoes === null && this.stopped) return Object.assign(node, { state: "skipped" }) && null;
    if (node.undoes === null && !this.#stands(node.needs)) return this.#reject(node);
    if (node.kind === "wait") return this.#wait(node);
    if (how === "no tool") return Object.assign(node, { state: "waiting" }) && null;
    if (how === "bad input") return this.#reject(node);
    if (node.gated && !node.approved) return Object.assign(node, { state: "waiting_approval" }) && null;
    const leave = { attempt: node.attempts + 1, recorded: node.kind === "acts" || node.gated };
    if (leave.recorded) Object.assign(node, { state: "running", attempts: leave.attempt });
    else node.flight = leave.attempt;
    if (node.kind === "acts") node.row = "started";
    return leave;
  }

  #wait(node: ModelStep): null {
    if (node.state === "waiting") this.#succeed(node);
    else Object.assign(node, { state: "waiting", isDue: false });
    return null;
  }

  /** DESIGN 5: what a handler's end means. */
  end(node: ModelStep, { attempt, recorded }: AllowedMove, how: MoveOutcome, mayPass: boolean): void {
    const isCurrent = recorded
      ? node.state === "running" && node.attempts === attempt
      : isStartable(node) && node.attempts + 1 === attempt;
    const isAdopted = node.state === "in_doubt" && node.attempts === attempt && (how === "value" || how === "misfit");
    if (!isCurrent && !isAdopted) return;
    node.attempts = attempt;
    if (node.kind !== "acts" && this.#startsNothing && how !== "value" && how !== "misfit") node.state = "cancelled";
    else if (how === "value" || (how === "misfit" && node.undoes !== null)) this.#succeed(node);
    else if (how === "misfit")
      this.#fail(Object.assign(node, node.kind === "acts" && { row: "committed", unusable: true }), false);
    else if (node.kind !== "acts") this.#fail(node, mayPass);
    else if (how === "not done") this.#fail(Object.assign(node, { row: "not_done" }), mayPass);
    else Object.assign(node, { state: "in_doubt", row: "in_doubt" });
  }

  /** Recovers a step whose worker died; the send marker says whether the tool was called. */
  recover(node: ModelStep, mark: "yes" | "no" | "unknown"): void {
    if (node.state === "waiting" && node.kind !== "wait") this.#reopen(node);
    if (node.state !== "running") return;
    if (node.kind === "acts" && mark !== "no") Object.assign(node, { state: "in_doubt", row: "in_doubt" });
    else this.#reopen(Object.assign(node, node.kind === "acts" && { row: "not_done" }));
  }

  decideGate(node: ModelStep, yes: boolean): void {
    if (node.state !== "waiting_approval") return;
    if (yes) Object.assign(node, { state: "ready", approved: true });
    else this.#sink(node, "rejected", "outside");
  }

  resolve(node: ModelStep, as: "happened" | "absent" | "give_up"): void {
    if (as === "happened" && (node.state === "in_doubt" || (node.state === "failed_final" && node.unusable)))
      this.#succeed(node);
    if (node.state !== "in_doubt") return;
    if (as === "absent") this.#reopen(Object.assign(node, { row: "absent" }));
    if (as === "give_up") this.#sink(Object.assign(node, { row: "given_up" }), "failed_final", "outside");
  }

  undo(node: ModelStep): void {
    const id = `undo.${node.id}.1`;
    const earlier = this.nodes.get(id);
    const happened = node.row === "committed" || node.state === "compensation_failed";
    const isPossible = happened || (node.state === "in_doubt" && node.safeIfAbsent);
    if (node.undoes !== null || !node.undoable || !isPossible || earlier?.row === "given_up") return;
    Object.assign(node, { state: "compensating", row: "compensating" });
    if (earlier) Object.assign(earlier, { state: "ready", forgiven: earlier.attempts });
    else
      this.add(
        id,
        { ...node, kind: "acts", needs: [], gated: false, onFailure: "skip", onRejected: "continue" },
        node.id,
      );
  }

  cancel(): void {
    if (this.cancelled || this.status !== null) return;
    this.open = false;
    this.cancelled = true;
    for (const node of this.#idle()) node.state = "cancelled";
  }

  /** The agent closes the run. */
  close(): void {
    if (!this.open) return;
    this.open = false;
    this.closed = true;
    for (const node of this.#idle()) node.state = "cancelled";
  }

  get #startsNothing(): boolean {
    return this.cancelled || this.closed;
  }

  /** Reopens the steps without success, unless they acted or may have, or need a step that is not reopened. */
  resume(): void {
    if (!this.hasPlan || (this.status !== "partial" && this.status !== "failed")) return;
    this.stopped = false;
    const back = new Set<string>();
    for (const node of this.nodes.values()) {
      const mayRun = node.row === null || node.row === "not_done" || node.row === "absent";
      const ended = ["failed_final", "rejected", "skipped"].includes(node.state) && node.undoes === null;
      if (mayRun && ended && node.needs.every((id) => back.has(id) || this.#stands([id]))) back.add(node.id);
    }
    for (const id of back) {
      const node = this.node(id);
      Object.assign(node, { state: "pending", forgiven: node.attempts });
      if (this.#stands(node.needs)) node.state = "ready";
    }
  }

  /** An hour passes. */
  pass(): void {
    for (const node of this.nodes.values()) node.isDue = true;
  }

  /** The final status of the run; null while a person, a timer or a worker can still move it. */
  get status(): "completed" | "partial" | "failed" | "cancelled" | null {
    const all = [...this.nodes.values()];
    if (this.open || all.some(({ state }) => !OVER.includes(state))) return null;
    const asked = all.filter((node) => node.undoes === null && !(node.state === "skipped" && this.#isExcusable(node)));
    const done = asked.filter(({ state }) => state === "succeeded").length;
    if (this.cancelled) return "cancelled";
    if (this.closed) return "completed";
    return done === asked.length ? "completed" : done > 0 ? "partial" : "failed";
  }

  node(id: string): ModelStep {
    return this.nodes.get(id) as ModelStep;
  }

  #stands(needs: readonly string[]): boolean {
    return needs.every((id) => this.node(id).state === "succeeded");
  }

  #idle(): readonly ModelStep[] {
    return [...this.nodes.values()].filter(({ state, undoes }) => undoes === null && IDLE.includes(state));
  }

  #succeed(node: ModelStep): void {
    node.state = "succeeded";
    node.unusable = false;
    if (node.kind === "wait") node.attempts += 1;
    if (node.kind === "acts") node.row = "committed";
    if (node.undoes !== null) this.#sink(Object.assign(this.node(node.undoes), { row: "compensated" }), "compensated");
    for (const other of this.nodes.values())
      if (other.state === "pending" && this.#stands(other.needs)) other.state = "ready";
  }

  #fail(node: ModelStep, mayPass: boolean): void {
    const isBarred = node.undoes === null && (this.#startsNothing || this.stopped);
    if (!mayPass || isBarred || node.attempts - node.forgiven >= node.tries)
      this.#sink(node, this.#isExcusable(node) && node.row !== "committed" ? "skipped" : "failed_final");
    else Object.assign(node, { state: "failed_retryable", isDue: false });
  }

  /** True for a step of the plan that may fail without ending it. */
  #isExcusable({ id, onFailure }: ModelStep): boolean {
    return this.hasPlan && !id.includes(".") && onFailure === "skip";
  }

  #reject(node: ModelStep): null {
    this.#sink(node, "rejected");
    return null;
  }

  /** Makes the step ready, unless the run was stopped or cancelled. */
  #reopen(node: ModelStep): void {
    node.state = "ready";
    if (node.undoes === null && this.stopped) node.state = "skipped";
    if (node.undoes === null && this.#startsNothing) node.state = "cancelled";
  }

  /** Ends a step without success, and skips all idle steps or its dependents. A command from outside does not know the
   * running handlers. */
  #sink(node: ModelStep, state: ModelStepState, from: "worker" | "outside" = "worker"): void {
    node.state = state;
    const { undoes, onFailure, onRejected } = node;
    const stops = state === "failed_final" ? onFailure === "abort" : state === "rejected" && onRejected === "stop";
    if (undoes !== null) {
      this.#sink(Object.assign(this.node(undoes), { row: "compensation_failed" }), "compensation_failed");
    } else if (stops) {
      this.stopped ||= !this.open;
      for (const idle of this.#idle())
        if (!(from === "outside" ? mayFly(idle) : this.isFlying(idle))) idle.state = "skipped";
    }
    this.#skipBehind(node);
  }

  #skipBehind({ id }: ModelStep): void {
    for (const other of this.nodes.values())
      if (other.state === "pending" && other.needs.includes(id))
        this.#skipBehind(Object.assign(other, { state: "skipped" }));
  }

  /** True if a handler runs without a recorded start; it ends by itself. */
  isFlying({ state, flight, attempts }: ModelStep): boolean {
    return IDLE.includes(state) && state !== "waiting_approval" && flight === attempts + 1;
  }
}

const IDLE: readonly ModelStepState[] = ["pending", "ready", "waiting_approval", "waiting", "failed_retryable"];
const OVER: readonly ModelStepState[] = [
  ...(["succeeded", "failed_final", "rejected", "skipped", "cancelled"] as const),
  ...(["compensated", "compensation_failed"] as const),
];

function isStartable({ state, isDue, kind }: ModelStep): boolean {
  return (
    state === "ready" || (state === "failed_retryable" && isDue) || (state === "waiting" && (isDue || kind !== "wait"))
  );
}

function mayFly(node: ModelStep): boolean {
  const waitsForTool = node.state === "waiting" && node.kind !== "wait";
  return isStartable(node) && !waitsForTool;
}
