import type { StoredEvent, StoredJournal } from "../../core/store/store.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import { EVENTS_PER_READ, type EventLines, type SqliteStatements } from "./statements.ts";

/** The value of a SQLite `limit` clause that means no limit. */
export const NO_LIMIT = -1;

/** The maximum numbers of events and runs that one query reads. A run with more events is read by itself. */
const MAX_BATCH_EVENTS = 1000;
const MAX_BATCH_RUNS = 100;

/** Fewer events are read one by one. */
const FEWEST_LINES = 8;

interface EventRange {
  readonly after: number;
  readonly most: number;
}

export function readRunEvents(
  statements: SqliteStatements,
  tenant: Tenant,
  run: RunId,
  { after, most }: EventRange,
): readonly StoredEvent[] {
  const found: StoredEvent[] = [];
  const last = () => found.at(-1)?.position ?? after;
  const left = () => (most === NO_LIMIT ? EVENTS_PER_READ : most - found.length);
  for (let isFull = left() >= FEWEST_LINES; isFull; ) {
    const count = Math.min(left(), EVENTS_PER_READ);
    const lines = statements.somePart.get(tenant, run, last(), last() + count);
    const part = lines === undefined ? null : parseEvents(lines);
    for (const event of part ?? []) found.push(event);
    isFull = part?.length === count && left() > 0;
  }
  if (found.length === most) return found;
  // Reads the events after a gap in the positions, or events that cannot be read as lines. Usually there are none.
  const rest = most === NO_LIMIT ? NO_LIMIT : left();
  for (const [text] of statements.events.all(tenant, run, last(), rest)) found.push(parseEvent(text));
  return found;
}

/**
 * Reads journals after a run id with their heads, in one query if heads and first events name the same journals.
 */
export function readJournals(
  statements: SqliteStatements,
  tenant: Tenant,
  after: string,
  most: number,
): readonly StoredJournal[] {
  const heads = statements.heads.all(tenant, after, Math.min(most, MAX_BATCH_RUNS));
  const runs = batchableRuns(heads.map(([position]) => position));
  const parts = statements.firstParts.all(tenant, after, runs);
  const haveSameRuns =
    runs > 0 &&
    parts.length === runs &&
    parts.every(({ 2: journal, 3: run }, index) => heads[index]?.[2] === journal && heads[index]?.[3] === run);
  if (!haveSameRuns) return readOneByOne(statements, tenant, after, most);
  return parts.map(([count, lines, , run], index) => {
    const [position, hash] = heads[index] as (typeof heads)[number];
    const events = count > EVENTS_PER_READ ? null : parseEvents([count, lines]);
    return {
      run,
      head: { position, hash },
      events: events ?? readRunEvents(statements, tenant, run, { after: 0, most: NO_LIMIT }),
    };
  });
}

/** Returns how many of the runs, with these numbers of events, fit into one query; at least one. */
function batchableRuns(positions: readonly number[]): number {
  let events = 0;
  for (const [index, position] of positions.entries()) {
    events += position;
    if (events > MAX_BATCH_EVENTS) return Math.max(index, 1);
  }
  return positions.length;
}

/** Reads run by run, for a damaged store in which a run has a head without events or events without a head. */
function readOneByOne(
  statements: SqliteStatements,
  tenant: Tenant,
  after: string,
  most: number,
): readonly StoredJournal[] {
  const journals: StoredJournal[] = [];
  let read = 0;
  for (const { run } of statements.runs.all(tenant, after, most)) {
    const head = statements.auditedHead.get(tenant, run);
    const events = readRunEvents(statements, tenant, run, { after: 0, most: NO_LIMIT });
    journals.push({ run, head: head === undefined ? null : { position: head[0], hash: head[1] }, events });
    read += events.length;
    if (read > MAX_BATCH_EVENTS) break;
  }
  return journals;
}

/** Returns null if there are more lines than events, or if the events are not in order. */
function parseEvents([count, lines]: EventLines): readonly StoredEvent[] | null {
  if (lines === null) return [];
  const events = lines.split("\n").map(parseEvent);
  if (events.length !== count) return null;
  for (let at = 1; at < count; at += 1) if (!follows(events[at], events[at - 1])) return null;
  return events;
}

function follows(event: StoredEvent | undefined, before: StoredEvent | undefined): boolean {
  return event !== undefined && before !== undefined && event.position > before.position;
}

/** Parses position, time, version, hash (with the hash of an erased body), type, and the body unless it was erased. */
function parseEvent(text: string): StoredEvent {
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
