import type { Digest, Instant } from "../id.ts";
import type { Json } from "../json/json.ts";
import type { StatePoint } from "../rows.ts";
import type { Patch } from "./patch.ts";
import { type Entries, type ProjectState, sorted, stateFrom } from "./project-state.ts";

/**
 * Where many versions of a state are kept in one piece, so that whoever comes cold need not read an event for each. The next change says
 * so. It is a cache: the events say the same, and are asked where it is gone.
 */
export interface Kept {
  /** The last version in it. */
  readonly version: number;
  /** The blob with the changes that led there. */
  readonly changes: Digest;
  /** The blob with all of the state as it was there; absent: it was not worth it yet. */
  readonly whole?: Digest;
  /** After so many bytes of changes, all of the state is kept again: what is written for that is paid for by what was changed. */
  readonly until_whole: number;
}

/** A version as the event that made it tells it. */
export interface Told {
  /** Whose version it is: what a fork goes on from is another's. */
  readonly project: string;
  readonly version: number;
  readonly at: Instant;
  readonly point: StatePoint;
  readonly patch: Patch;
  readonly kept?: Kept;
}

/** Versions that follow each other, oldest first, and where the one before them is told. */
export interface Bundle {
  readonly upon: StatePoint | null;
  readonly told: readonly Told[];
}

/** Another form than this one is not guessed at: whoever finds it asks the events. */
const FORM = "writ/kept/v1";

export function bundleText({ upon, told }: Bundle): string {
  return JSON.stringify({ form: FORM, upon, told });
}

export function bundleFrom(text: string): Bundle | null {
  const found = JSON.parse(text) as Bundle & { readonly form: string };
  return found.form === FORM ? found : null;
}

/**
 * All of a state. No two versions share a text, so that one can be dropped alone. Keys are kept in pairs, since objects do not keep
 * every order and name.
 */
export function wholeText(state: ProjectState, { project, version }: Pick<Told, "project" | "version">): string {
  const slices = [...state]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, entries]) => ({ name, v: entries.v, shape: entries.shape, items: itemsOf(entries) }));
  return JSON.stringify({ form: FORM, project, version, slices });
}

export function wholeFrom(text: string): ProjectState | null {
  const found = JSON.parse(text) as { readonly form: string; readonly slices: Parameters<typeof stateFrom>[0] };
  return found.form === FORM ? stateFrom(found.slices) : null;
}

function itemsOf(entries: Entries): readonly Json[] {
  return entries.shape === "list" ? [...entries.items] : (sorted(entries.items) as readonly Json[]);
}
