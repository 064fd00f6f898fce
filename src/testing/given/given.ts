import assert from "node:assert/strict";
import type { Guard, Policy, Rules } from "../../core/call/guard.ts";
import type { LedgerFact, ToolFacts } from "../../core/call/proposal.ts";
import { receiptOf } from "../../core/call/receipt.ts";
import type { Command, Grant } from "../../core/decide/command.ts";
import { type Decision, decide } from "../../core/decide/decide.ts";
import type { Event, EventType } from "../../core/event/event.ts";
import { eventRows } from "../../core/evolve/event-rows.ts";
import { evolve } from "../../core/evolve/evolve.ts";
import { emptyRun, type Gate, getStep, type Run } from "../../core/run/run.ts";
import type { Step, StepStanding } from "../../core/run/step.ts";
import { assertValidEntry, checkRowsAndCharges, rowVersionAfter } from "../../core/store/check-entry.ts";
import type { Entry, StoredRow } from "../../core/store/store.ts";
import type { LedgerRow, Table } from "../../core/store/tables.ts";
import type { GateId, Instant, StepId } from "../../core/values/ids.ts";
import { standardGuards } from "../../policy/guards/standard-guards.ts";
import { assertMessages } from "./assert-messages.ts";
import { acme, hireRun, noon, toolOf } from "./fixtures.ts";

/** One action of a test: an event, a command, a command that depends on the run so far, or time that passes. */
export type GivenAction = Event | Command | CommandFrom | TimePassing | readonly GivenAction[];
export type CommandFrom = (givenRun: GivenRun) => Command;

interface TimePassing {
  readonly passMs: number;
}

/** Stored rows by table and key. */
export type RowMap = ReadonlyMap<string, StoredRow>;

/** Makes a run from events, or from the commands that lead to them. */
export function given(...actions: readonly GivenAction[]): GivenRun {
  return new GivenRun(INITIAL_STATE).when(...actions);
}

/** Advances the time before the next command. */
export function pass(passMs: number): GivenAction {
  return { passMs };
}

interface GivenState {
  readonly run: Run;
  readonly now: Instant;
  readonly events: readonly Event[];
  readonly newEvents: readonly Event[];
  readonly decision: Decision | null;
  readonly grants: ReadonlyMap<string, Grant>;
  readonly rows: RowMap;
  /** Ledger facts that another run wrote. */
  readonly externalFacts: ReadonlyMap<string, LedgerFact>;
  readonly guards: readonly Guard[];
  /** The tools that the steps were made with. */
  readonly tools: ReadonlyMap<string, ToolFacts>;
}

const INITIAL_STATE: GivenState = {
  run: emptyRun(hireRun, acme),
  now: noon,
  events: [],
  newEvents: [],
  decision: null,
  grants: new Map(),
  rows: new Map(),
  externalFacts: new Map(),
  guards: standardGuards,
  tools: new Map(),
};

/**
 * A run that the real `decide` and `evolve` compute. Every decision is checked as a store checks it: each row is put
 * once, as the next version of the stored row. Otherwise the test fails.
 */
export class GivenRun {
  readonly #state: GivenState;

  constructor(state: GivenState) {
    this.#state = state;
  }

  /** Applies more actions. `newEvents` then holds the events of these actions. */
  when(...actions: readonly GivenAction[]): GivenRun {
    let state: GivenState = { ...this.#state, newEvents: [] };
    for (const action of flattenActions(actions)) state = applyAction(state, action);
    return new GivenRun(state);
  }

  /** Returns the same run with more guards. */
  withGuards(...guards: readonly Guard[]): GivenRun {
    return new GivenRun({ ...this.#state, guards: [...this.#state.guards, ...guards] });
  }

  /** Returns the same run with this row in the ledger. */
  withLedgerFact(fact: LedgerFact): GivenRun {
    const { version, row } = fact;
    const rows = new Map(this.#state.rows).set(rowMapKey("ledger", row.key), {
      key: row.key,
      version,
      row: JSON.stringify(row),
    });
    return new GivenRun({ ...this.#state, rows, externalFacts: new Map(this.#state.externalFacts).set(row.key, fact) });
  }

  get run(): Run {
    return this.#state.run;
  }
  get now(): Instant {
    return this.#state.now;
  }
  /** All events, oldest first. */
  get events(): readonly Event[] {
    return this.#state.events;
  }
  get newEvents(): readonly Event[] {
    return this.#state.newEvents;
  }
  get newEventTypes(): readonly EventType[] {
    return this.newEvents.map(({ type }) => type);
  }
  get rows(): RowMap {
    return this.#state.rows;
  }
  /** The last decision. */
  get decision(): Decision {
    assert.ok(this.#state.decision !== null, "there is a decision");
    return this.#state.decision;
  }

  step(id: string): Step {
    return getStep(this.run, { step_id: id as StepId });
  }

  /** Returns the tool of a step. An undo has the tool of the step that it undoes. */
  tool(id: string): ToolFacts | null {
    const { spec, cause } = this.step(id);
    if (cause?.by === "undo") return this.tool(cause.of);
    return this.#state.tools.get(id) ?? toolOf(spec);
  }

  standing(id: string): StepStanding {
    return this.step(id).standing;
  }

  /** The state of each step, in order. */
  get states(): Readonly<Record<string, StepStanding["state"]>> {
    return Object.fromEntries(Array.from(this.run.steps, ({ spec, standing }) => [spec.step_id, standing.state]));
  }

  /** Returns the only new event of this type, for a step if an id is given. */
  newEvent<Type extends EventType>(type: Type, id?: string): Extract<Event, { type: Type }> {
    const isAbout = (event: Event) => id === undefined || ("step_id" in event && event.step_id === id);
    const found = this.newEvents.filter(
      (event): event is Extract<Event, { type: Type }> => event.type === type && isAbout(event),
    );
    assert.equal(found.length, 1, `one ${type} among ${this.newEventTypes.join(", ") || "nothing"}`);
    return found[0] as Extract<Event, { type: Type }>;
  }

  isGranted(id: string): boolean {
    return this.#state.grants.has(id);
  }

  /** The last grant of a step. */
  grant(id: string): Grant {
    const grant = this.#state.grants.get(id);
    assert.ok(grant !== undefined, `${id} was granted`);
    return grant;
  }

  /** The last gate opened for a step. */
  gate(id: string): Gate {
    const gate = this.run.gates.get(this.step(id).gate as GateId);
    assert.ok(gate !== undefined, `${id} has a gate`);
    return gate;
  }

  ledgerRow(key: string): LedgerRow | null {
    const stored = this.rows.get(rowMapKey("ledger", key));
    return stored === undefined ? null : (JSON.parse(stored.row) as LedgerRow);
  }

  /** Returns what a store returns for a key, with the receipt. */
  ledger(key: string): LedgerFact | null {
    const row = this.ledgerRow(key);
    if (row === null) return null;
    const { version } = this.rows.get(rowMapKey("ledger", key)) as StoredRow;
    const external = this.#state.externalFacts.get(key);
    if (external !== undefined && row.run_id === external.row.run_id) return external;
    const proof = row.receipt === null ? undefined : this.events[row.receipt - 1];
    return { version, row, receipt: proof === undefined ? null : receiptOf(proof), sighting: null };
  }
}

function flattenActions(actions: readonly GivenAction[]): readonly Exclude<GivenAction, readonly GivenAction[]>[] {
  return actions.flatMap((action) =>
    isList(action) ? flattenActions(action) : [action as Exclude<GivenAction, readonly GivenAction[]>],
  );
}

const isList = (action: GivenAction): action is readonly GivenAction[] => Array.isArray(action);

function applyAction(state: GivenState, action: Exclude<GivenAction, readonly GivenAction[]>): GivenState {
  if (typeof action === "function") return applyCommand(state, action(new GivenRun(state)));
  if ("passMs" in action) return { ...state, now: (state.now + action.passMs) as Instant };
  return isEvent(action) ? applyEvents(state, [action]) : applyCommand(state, action);
}

/** The names of events contain a dot: `step.started`. */
function isEvent(action: Event | Command): action is Event {
  return action.type.includes(".");
}

function applyCommand(state: GivenState, command: Command): GivenState {
  const decision = decideAndReplay(state, command);
  const { grant } = decision;
  assertMessages(decision);
  const tools = new Map([...state.tools, ...toolsIn(command)]);
  const after = applyEvents({ ...state, decision, tools }, decision.events, decision.checks);
  assert.deepEqual(after.run.position, decision.after.position, "the decision and its events end at the same position");
  return grant === null ? after : { ...after, grants: new Map(after.grants).set(grant.step_id, grant) };
}

/** The compiled policies of commands: a command itself only names the version. */
const policiesOfCommands = new WeakMap<Command, Policy>();

/** Returns the command, which `given` decides by this policy. */
export function underPolicy(command: Command, policy: Policy | null): Command {
  if (policy !== null) policiesOfCommands.set(command, policy);
  return command;
}

function policyOf(command: Command): Policy | null {
  return policiesOfCommands.get(command) ?? null;
}

/** Rules without tool conditions. */
export function rulesWith(guards: readonly Guard[], policy: Policy | null = null): Rules {
  return { guardPointers: [], guards, policyFor: () => policy, conditionsOf: () => [] };
}

/** Decides the command. Under the standard guards, checks that its serialised copy gives the same decision. */
function decideAndReplay({ run, guards }: GivenState, command: Command): Decision {
  const rules = rulesWith(guards, policyOf(command));
  const decision = decide(run, command, rules);
  if (guards === standardGuards) assertReplays(run, command, rules, decision);
  return decision;
}

/** Throws if the command, serialised and parsed, gives another decision. */
function assertReplays(run: Run, command: Command, rules: Rules, decision: Decision): void {
  const replayed = decide(run, JSON.parse(JSON.stringify(command)) as Command, rules);
  const asData = ({ after: _, ...rest }: Decision): unknown => JSON.parse(JSON.stringify(rest));
  assert.deepEqual(asData(replayed), asData(decision), "a serialised command gives the same decision");
}

function toolsIn(command: Command): readonly (readonly [string, ToolFacts])[] {
  const steps =
    command.type === "accept"
      ? command.plan?.steps
      : command.type === "propose"
        ? command.calls.map(({ step }) => step)
        : [];
  return (steps ?? []).flatMap((step) => {
    const tool = toolOf(step);
    return tool === null ? [] : [[step.step_id, tool] as const];
  });
}

function applyEvents(state: GivenState, events: readonly Event[], checks: Entry["checks"] = []): GivenState {
  if (events.length === 0) return state;
  const run = events.reduce(evolve, state.run);
  const rows = applyEntry(state.rows, entryFor(state.run, events, run, checks));
  return { ...state, run, rows, events: [...state.events, ...events], newEvents: [...state.newEvents, ...events] };
}

/** Makes the entry that the engine appends for these events. */
export function entryFor(before: Run, events: readonly Event[], after: Run, checks: Entry["checks"] = []): Entry {
  const { tenant, id: run } = after;
  const expect = { position: before.position, epoch: null };
  return {
    tenant,
    run,
    expect,
    events: [],
    puts: eventRows(before, events, after),
    charges: [],
    checks,
    flush: "hard",
  };
}

/** Returns the rows after an entry. Fails if a condition of the entry fails. */
export function applyEntry(rows: RowMap, entry: Entry): RowMap {
  assertValidEntry(entry);
  const row = (_: unknown, table: Table, key: string) => rows.get(rowMapKey(table, key)) ?? null;
  assert.deepEqual(checkRowsAndCharges(entry, { row, used: () => 0 }), { landed: true });
  const after = new Map(rows);
  for (const put of entry.puts) {
    const name = rowMapKey(put.table, put.key);
    if (put.row === null) after.delete(name);
    else after.set(name, { key: put.key, version: rowVersionAfter(put), row: put.row });
  }
  return after;
}

export function rowMapKey(table: Table, key: string): string {
  return `${table} ${key}`;
}
