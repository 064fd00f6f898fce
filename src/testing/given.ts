import assert from "node:assert/strict";
import type { Command, Grant } from "../core/command.ts";
import { type Decision, decide } from "../core/decide.ts";
import type { Event, EventType } from "../core/event.ts";
import { evolve } from "../core/evolve.ts";
import type { Guard } from "../core/guard.ts";
import type { GateId, Instant, StepId } from "../core/id.ts";
import { assertSound, judgeBeyond, versionAfter } from "../core/judge.ts";
import type { LedgerFact, ToolFacts } from "../core/proposal.ts";
import type { LedgerRow, Table } from "../core/rows.ts";
import { rowsOf } from "../core/rows-of.ts";
import { type Gate, type Run, stepOf, unbornRun } from "../core/run.ts";
import type { Standing, Step } from "../core/step.ts";
import type { Entry, StoredRow } from "../core/store.ts";
import { standingGuards } from "../policy/guards.ts";
import { acme, hire, noon, toolOf } from "./given/cast.ts";
import { assertWords } from "./given/words.ts";

/** Something that happens in a story: a fact, a command, a command that depends on what was told so far, or time that passes. */
export type Move = Event | Command | Telling | Pass | readonly Move[];
export type Telling = (told: Told) => Command;

interface Pass {
  readonly passMs: number;
}

/** Rows as a store keeps them, by table and key. */
export type Shelf = ReadonlyMap<string, StoredRow>;

/** What has happened, told as facts or as the commands that led to them. */
export function given(...moves: readonly Move[]): Told {
  return new Told(BEGINNING).when(...moves);
}

/** Lets time pass before the next command. */
export function pass(passMs: number): Move {
  return { passMs };
}

interface Tale {
  readonly run: Run;
  readonly now: Instant;
  readonly past: readonly Event[];
  readonly news: readonly Event[];
  readonly decision: Decision | null;
  readonly grants: ReadonlyMap<string, Grant>;
  readonly rows: Shelf;
  /** Facts of the ledger that no event of this run wrote. */
  readonly hearsay: ReadonlyMap<string, LedgerFact>;
  readonly guards: readonly Guard[];
  /** What the steps of the story were made with. */
  readonly tools: ReadonlyMap<string, ToolFacts>;
}

const BEGINNING: Tale = {
  run: unbornRun(hire, acme),
  now: noon,
  past: [],
  news: [],
  decision: null,
  grants: new Map(),
  rows: new Map(),
  hearsay: new Map(),
  guards: standingGuards,
  tools: new Map(),
};

/**
 * A run as far as its story goes, on the real law. Every decision is written as a store would write it: its rows must be
 * the next versions of what is there, each put once, or the story breaks off.
 */
export class Told {
  readonly #tale: Tale;

  constructor(tale: Tale) {
    this.#tale = tale;
  }

  /** What happens next. `news` are the events that this brought about. */
  when(...moves: readonly Move[]): Told {
    let tale: Tale = { ...this.#tale, news: [] };
    for (const move of flat(moves)) tale = moved(tale, move);
    return new Told(tale);
  }

  /** The same story under more guards. */
  under(...guards: readonly Guard[]): Told {
    return new Told({ ...this.#tale, guards: [...this.#tale.guards, ...guards] });
  }

  /** The same story in a world whose ledger has this row. */
  hearing(fact: LedgerFact): Told {
    const { version, row } = fact;
    const rows = new Map(this.#tale.rows).set(shelfKey("ledger", row.key), {
      key: row.key,
      version,
      row: JSON.stringify(row),
    });
    return new Told({ ...this.#tale, rows, hearsay: new Map(this.#tale.hearsay).set(row.key, fact) });
  }

  get run(): Run {
    return this.#tale.run;
  }
  get now(): Instant {
    return this.#tale.now;
  }
  /** All events, oldest first. */
  get past(): readonly Event[] {
    return this.#tale.past;
  }
  get news(): readonly Event[] {
    return this.#tale.news;
  }
  get types(): readonly EventType[] {
    return this.news.map(({ type }) => type);
  }
  get rows(): Shelf {
    return this.#tale.rows;
  }
  /** What the law answered last. */
  get decision(): Decision {
    assert.ok(this.#tale.decision !== null, "nothing was decided yet");
    return this.#tale.decision;
  }

  step(id: string): Step {
    return stepOf(this.run, { step_id: id as StepId });
  }

  /** The tool that a step was made with; an undo has that of the step it undoes. */
  tool(id: string): ToolFacts | null {
    const { spec, cause } = this.step(id);
    if (cause?.by === "undo") return this.tool(cause.of);
    return this.#tale.tools.get(id) ?? toolOf(spec);
  }

  standing(id: string): Standing {
    return this.step(id).standing;
  }

  /** The state of each step, in order. */
  get states(): Readonly<Record<string, Standing["state"]>> {
    return Object.fromEntries(Array.from(this.run.steps, ({ spec, standing }) => [spec.step_id, standing.state]));
  }

  /** The one event of this type among the news, about a step where one is named. */
  said<Type extends EventType>(type: Type, id?: string): Extract<Event, { type: Type }> {
    const about = (event: Event) => id === undefined || ("step_id" in event && event.step_id === id);
    const found = this.news.filter(
      (event): event is Extract<Event, { type: Type }> => event.type === type && about(event),
    );
    assert.equal(found.length, 1, `one ${type} among ${this.types.join(", ") || "nothing"}`);
    return found[0] as Extract<Event, { type: Type }>;
  }

  granted(id: string): boolean {
    return this.#tale.grants.has(id);
  }

  /** The right to execute that a step was given last. */
  grant(id: string): Grant {
    const grant = this.#tale.grants.get(id);
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
    const stored = this.rows.get(shelfKey("ledger", key));
    return stored === undefined ? null : (JSON.parse(stored.row) as LedgerRow);
  }

  /** What a store would say about a key, receipt included. */
  ledger(key: string): LedgerFact | null {
    const row = this.ledgerRow(key);
    if (row === null) return null;
    const { version } = this.rows.get(shelfKey("ledger", key)) as StoredRow;
    const heard = this.#tale.hearsay.get(key);
    if (heard !== undefined && row.run_id === heard.row.run_id) return heard;
    return { version, row, receipt: row.receipt === null ? null : receiptOf(this.past, row.receipt), sighting: null };
  }
}

function flat(moves: readonly Move[]): readonly Exclude<Move, readonly Move[]>[] {
  return moves.flatMap((move) => (isList(move) ? flat(move) : [move as Exclude<Move, readonly Move[]>]));
}

const isList = (move: Move): move is readonly Move[] => Array.isArray(move);

function moved(tale: Tale, move: Exclude<Move, readonly Move[]>): Tale {
  if (typeof move === "function") return decided(tale, move(new Told(tale)));
  if ("passMs" in move) return { ...tale, now: (tale.now + move.passMs) as Instant };
  return isEvent(move) ? happened(tale, [move]) : decided(tale, move);
}

/** The names of facts have a dot: `step.started`. */
function isEvent(move: Event | Command): move is Event {
  return move.type.includes(".");
}

function decided(tale: Tale, command: Command): Tale {
  const decision = decide(tale.run, command, tale.guards);
  const { grant } = decision;
  assertWords(decision);
  const tools = new Map([...tale.tools, ...toolsIn(command)]);
  const after = happened({ ...tale, decision, tools }, decision.events, decision.checks);
  assert.deepEqual(after.run.position, decision.after.position, "the decision ends where its events do");
  return grant === null ? after : { ...after, grants: new Map(after.grants).set(grant.step_id, grant) };
}

function toolsIn(command: Command): readonly (readonly [string, ToolFacts])[] {
  const steps = command.type === "accept" ? command.plan?.steps : command.type === "propose" ? [command.step] : [];
  return (steps ?? []).flatMap((step) => {
    const tool = toolOf(step);
    return tool === null ? [] : [[step.step_id, tool] as const];
  });
}

function happened(tale: Tale, events: readonly Event[], checks: Entry["checks"] = []): Tale {
  if (events.length === 0) return tale;
  const run = events.reduce(evolve, tale.run);
  const rows = written(tale.rows, entryOf(tale.run, events, run, checks));
  return { ...tale, run, rows, past: [...tale.past, ...events], news: [...tale.news, ...events] };
}

/** What a store is asked to land. */
export function entryOf(before: Run, events: readonly Event[], after: Run, checks: Entry["checks"] = []): Entry {
  const { tenant, id: run } = after;
  const expect = { position: before.position, epoch: null };
  return { tenant, run, expect, events: [], puts: rowsOf(before, events, after), charges: [], checks, flush: "hard" };
}

/** The shelf after an entry, if its conditions hold. */
export function written(shelf: Shelf, entry: Entry): Shelf {
  assertSound(entry);
  const row = (_: unknown, table: Table, key: string) => shelf.get(shelfKey(table, key)) ?? null;
  assert.deepEqual(judgeBeyond(entry, { row, used: () => 0 }), { landed: true });
  const after = new Map(shelf);
  for (const put of entry.puts) {
    const name = shelfKey(put.table, put.key);
    if (put.row === null) after.delete(name);
    else after.set(name, { key: put.key, version: versionAfter(put), row: put.row });
  }
  return after;
}

export function shelfKey(table: Table, key: string): string {
  return `${table} ${key}`;
}

function receiptOf(past: readonly Event[], position: number): LedgerFact["receipt"] {
  const proof = past[position - 1];
  if (proof?.type === "step.succeeded") return { output: proof.output, at: proof.at };
  const seen = proof?.type === "step.settled" && proof.settled.as === "happened" ? proof.settled : null;
  return seen === null ? null : { output: seen.output, at: proof?.at as Instant };
}
