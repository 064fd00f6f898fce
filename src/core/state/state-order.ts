import { parsePointer } from "../json/pointer.ts";

/** How many places a tool or a step may declare. */
export const placesMax = 100;

/** A JSON pointer whose first token is the name of a slice. */
export function isPlaceOfState(pointer: string): boolean {
  return (parsePointer(pointer)?.[0] ?? "") !== "";
}

/** Which places of state something touches, as JSON pointers whose first token is a slice; null: it does not say. */
export interface Touches {
  readonly state_reads: readonly string[] | null;
  readonly state_writes: readonly string[] | null;
}

/** Who touched a place last: since its writer, readers may have come, and places inside it may have their own. */
interface Spot<Who> {
  writer: Who | null;
  readers: Who[];
  readonly inside: Map<string, Spot<Who>>;
}

/**
 * The order of those who touch state, one after the other: whoever reads a place waits for who wrote it, whoever writes it for who
 * wrote or read it. Places inside and around it count, too. Nobody waits for whom another waits for already.
 */
export class StateOrder<Who> {
  readonly #root: Spot<Who> = spot();

  /** Those whom the next one waits for. */
  next(who: Who, { state_reads, state_writes }: Touches): ReadonlySet<Who> {
    const before = new Set<Who>();
    for (const pointer of state_reads ?? []) this.#read(who, parsePointer(pointer) ?? [], before);
    for (const pointer of state_writes ?? []) this.#write(who, parsePointer(pointer) ?? [], before);
    before.delete(who);
    return before;
  }

  #read(who: Who, tokens: readonly string[], before: Set<Who>): void {
    const place = this.#reach(tokens, ({ writer }) => add(before, writer));
    below(place, ({ writer }) => add(before, writer));
    place.readers.push(who);
  }

  #write(who: Who, tokens: readonly string[], before: Set<Who>): void {
    const touched = ({ writer, readers }: Spot<Who>) => {
      add(before, writer);
      for (const reader of readers) before.add(reader);
    };
    const place = this.#reach(tokens, touched);
    below(place, touched);
    // Who comes later waits for this one, and so for all of them.
    place.writer = who;
    place.readers = [];
    place.inside.clear();
  }

  /** The spot at a place, made if need be; those on the way there are around it. */
  #reach(tokens: readonly string[], around: (spot: Spot<Who>) => void): Spot<Who> {
    let at = this.#root;
    for (const token of tokens) {
      around(at);
      const found = at.inside.get(token) ?? spot<Who>();
      at.inside.set(token, found);
      at = found;
    }
    return at;
  }
}

function spot<Who>(): Spot<Who> {
  return { writer: null, readers: [], inside: new Map() };
}

/** The spot itself and all inside it. */
function below<Who>(at: Spot<Who>, visit: (spot: Spot<Who>) => void): void {
  visit(at);
  for (const inner of at.inside.values()) below(inner, visit);
}

function add<Who>(to: Set<Who>, who: Who | null): void {
  if (who !== null) to.add(who);
}

/** Whether a place lies in one of those that are declared; where nothing is, everywhere does. */
export function isWithin(declared: readonly string[] | null, pointer: string): boolean {
  return declared === null || declared.some((place) => pointer === place || pointer.startsWith(`${place}/`));
}
