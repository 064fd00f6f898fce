import type { Instant, RunId, Tenant } from "../../core/id.ts";
import type { StoredEvent, StoredJournal } from "../../core/store.ts";
import { type EventLines, PART, type Statements } from "./statements.ts";

/** SQLite's word for no limit. */
export const ALL = -1;

/** So many events of several runs are read together, of at most so many runs; a run that has more is read by itself. */
const TOGETHER = 1000;
const RUNS = 100;

interface Range {
  readonly after: number;
  readonly most: number;
}

export function eventsOf(
  statements: Statements,
  tenant: Tenant,
  run: RunId,
  { after, most }: Range,
): readonly StoredEvent[] {
  const found: StoredEvent[] = [];
  const last = () => found.at(-1)?.position ?? after;
  for (let isFull = most === ALL; isFull; ) {
    const lines = statements.somePart.get(tenant, run, last(), last() + PART);
    const part = lines === undefined ? null : eventsIn(lines);
    for (const event of part ?? []) found.push(event);
    isFull = part?.length === PART;
  }
  // What lies beyond a gap, or what cannot be read line by line; mostly nothing.
  for (const [text] of statements.events.all(tenant, run, last(), most)) found.push(storedEvent(text));
  return found;
}

/** The journals after an id, with their heads, in one question for all where both tell of the same runs. */
export function journalsAfter(
  statements: Statements,
  tenant: Tenant,
  after: string,
  most: number,
): readonly StoredJournal[] {
  const heads = statements.heads.all(tenant, after, Math.min(most, RUNS));
  const runs = runsTogether(heads.map(([position]) => position));
  const parts = statements.firstParts.all(tenant, after, runs);
  const isAlike = runs > 0 && parts.length === runs && parts.every(({ 2: run }, index) => heads[index]?.[2] === run);
  if (!isAlike) return oneByOne(statements, tenant, after, most);
  return parts.map(([count, lines, run], index) => {
    const [position, hash] = heads[index] as (typeof heads)[number];
    const events = count > PART ? null : eventsIn([count, lines]);
    return {
      run,
      head: { position, hash },
      events: events ?? eventsOf(statements, tenant, run, { after: 0, most: ALL }),
    };
  });
}

/** How many of the runs that have so many events each are read together. */
function runsTogether(positions: readonly number[]): number {
  let events = 0;
  for (const [index, position] of positions.entries()) {
    events += position;
    if (events > TOGETHER) return Math.max(index, 1);
  }
  return positions.length;
}

/** Where a head or a journal is all that is left of some run. */
function oneByOne(statements: Statements, tenant: Tenant, after: string, most: number): readonly StoredJournal[] {
  const journals: StoredJournal[] = [];
  let read = 0;
  for (const { run } of statements.runs.all(tenant, after, most)) {
    const head = statements.head.get(tenant, run);
    const events = eventsOf(statements, tenant, run, { after: 0, most: ALL });
    journals.push({ run, head: head === undefined ? null : { position: head[0], hash: head[1] }, events });
    read += events.length;
    if (read > TOGETHER) break;
  }
  return journals;
}

/** Null: there are more lines than events, or they are not in order. */
function eventsIn([count, lines]: EventLines): readonly StoredEvent[] | null {
  if (lines === null) return [];
  const events = lines.split("\n").map(storedEvent);
  if (events.length !== count) return null;
  for (let at = 1; at < count; at += 1) if (!isAfter(events[at], events[at - 1])) return null;
  return events;
}

function isAfter(event: StoredEvent | undefined, before: StoredEvent | undefined): boolean {
  return event !== undefined && before !== undefined && event.position > before.position;
}

/** Position, time, version, hash (and that of an erased body), type, and the body unless it was erased. */
function storedEvent(text: string): StoredEvent {
  const position = text.indexOf(" ");
  const at = text.indexOf(" ", position + 1);
  const version = text.indexOf(" ", at + 1);
  const hashes = text.indexOf(" ", version + 1);
  const type = text.indexOf(" ", hashes + 1);
  const erased = type === -1;
  const hash = text.slice(version + 1, hashes);
  const second = hash.indexOf("-");
  return {
    position: Number(text.slice(0, position)),
    type: text.slice(hashes + 1, erased ? undefined : type),
    v: Number(text.slice(at + 1, version)),
    at: Number(text.slice(position + 1, at)) as Instant,
    body: erased ? null : text.slice(type + 1),
    hash: Buffer.from(second === -1 ? hash : hash.slice(0, second), "hex"),
    body_hash: second === -1 ? null : Buffer.from(hash.slice(second + 1), "hex"),
  };
}
