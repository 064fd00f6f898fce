import type { Language } from "../core/expression.ts";
import { FaultError, fault } from "../core/fault.ts";
import type { Policy } from "../core/guard.ts";
import type { Json } from "../core/json.ts";
import type { Run } from "../core/run.ts";
import { type PolicyPart, type PolicyScope, readPolicy } from "../policy/read-policy.ts";
import { refusesAll } from "../policy/refuses-all.ts";
import { RuleBook } from "../policy/rule-book.ts";
import { digestOfJson } from "./digest.ts";

/** The policies that an engine was opened with. Which of them are for a run depends on where it is, and on nothing else. */
export class Policies {
  readonly #parts: readonly PolicyPart[];
  /** By scope. There are as many as places that runs are in. */
  readonly #books = new Map<string, Policy | null>();

  constructor(parts: readonly PolicyPart[]) {
    this.#parts = parts;
  }

  /** The rules that are in force for a run; null: there are none. */
  of({ tenant, project, session }: Run): Policy | null {
    if (this.#parts.length === 0) return null;
    const place = JSON.stringify([tenant, project, session]);
    const known = this.#books.get(place);
    if (known !== undefined) return known;
    const made = this.#bookOf({ tenant, ...(project !== null && { project }), ...(session !== null && { session }) });
    if (this.#books.size >= PLACES_MAX) this.#books.clear();
    this.#books.set(place, made);
    return made;
  }

  #bookOf(place: PolicyScope): Policy | null {
    const theirs = this.#parts.filter(({ scope }) => scope.tenant === undefined || scope.tenant === place.tenant);
    const parts = theirs.filter(({ scope }) => isWithin(place, scope));
    const version = `pol_${digestOfJson(parts.map(({ document }) => document as Json)).slice(0, 32)}`;
    // Where sessions have rules, one that has none is not free of them: nobody knows it.
    const isStranger = place.session !== undefined && !parts.some(({ scope }) => scope.session !== undefined);
    if (isStranger && theirs.some(({ scope }) => scope.session !== undefined))
      return refusesAll(version, "session", `no policy knows the session ${place.session}`);
    return parts.length === 0 ? null : new RuleBook(version, parts);
  }
}

/** Whether a place is one that a scope is for. */
function isWithin(place: PolicyScope, scope: PolicyScope): boolean {
  return (["tenant", "project", "session"] as const).every(
    (name) => scope[name] === undefined || scope[name] === place[name],
  );
}

/** So many are remembered; sessions come and go. */
const PLACES_MAX = 1000;

/** Reads the documents that an engine is opened with. One that cannot be read keeps it from being opened. */
export function readPolicies(documents: readonly unknown[], language: Language): readonly PolicyPart[] {
  const read = documents.map((document) => readPolicy(document, language));
  const reasons = read.flatMap((each, index) =>
    each.ok ? [] : each.reasons.map(({ path, message }) => `policies/${index}${path}: ${message}`),
  );
  const parts = read.flatMap((each) => (each.ok ? [each.policy] : []));
  const names = parts.map(({ name, scope }) => JSON.stringify([name, scope.tenant, scope.project, scope.session]));
  const twice = parts.filter((_, index) => names.indexOf(names[index] as string) !== index);
  reasons.push(...twice.map(({ name }) => `two policies of one place are called ${name}; give each its own name`));
  if (reasons.length === 0) return parts;
  throw new FaultError(fault("POLICY_INVALID", `the engine was not opened: ${reasons.join("; ")}`, { reasons }));
}
