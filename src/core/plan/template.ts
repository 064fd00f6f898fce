import { assert } from "../assert.ts";
import { canonical } from "../json/canonical.ts";
import type { Json, JsonObject } from "../json/json.ts";
import { parsePointer } from "../json/pointer.ts";

/** What an idempotency template looks like: text with `{name}` in it, and no other braces. */
const wellFormed = /^(?:[^{}]|\{[A-Za-z_][A-Za-z0-9_]*\})*$/;
const placeholder = /\{(\w+)\}/g;

export function isTemplate(text: string): boolean {
  return wellFormed.test(text);
}

/** The names a template asks for, each once, in order. */
export function placeholders(template: string): readonly string[] {
  assert(isTemplate(template), "a template was checked before it is used");
  return [...new Set(Array.from(template.matchAll(placeholder), ([, name]) => name as string))];
}

export type Rendered =
  | { readonly ok: true; readonly text: string }
  /** The names without a value: an empty text in their place would make different acts the same one. */
  | { readonly ok: false; readonly missing: readonly string[] };

/**
 * Puts values into a template so that no two sets of values give the same text: each stands between braces as canonical
 * JSON, which says itself where it ends, and the template's own text has no braces.
 */
export function render(template: string, lookup: (name: string) => Json | undefined): Rendered {
  const missing = placeholders(template).filter((name) => (lookup(name) ?? null) === null);
  if (missing.length > 0) return { ok: false, missing };
  const text = template.replaceAll(placeholder, (_, name: string) => `{${canonical(lookup(name) as Json)}}`);
  return { ok: true, text };
}

/** The top-level keys of a payload that bindings fill, in whole or in part. */
export function boundNames(bindings: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  return new Set(Object.keys(bindings).flatMap((pointer) => parsePointer(pointer)?.slice(0, 1) ?? []));
}

export interface Sources {
  readonly payload: JsonObject;
  readonly bound: ReadonlySet<string>;
  readonly context: JsonObject;
}

/** Who gives a placeholder its value; null if nobody can. A key that is there but null hides the context and gives none. */
export function sourceOf(name: string, { payload, bound, context }: Sources): "binding" | "payload" | "context" | null {
  if (bound.has(name)) return "binding";
  if (Object.hasOwn(payload, name)) return payload[name] === null ? null : "payload";
  return Object.hasOwn(context, name) && context[name] !== null ? "context" : null;
}

/** How `render` reads a payload whose bindings have been filled in, and then the context. */
export function lookupIn(payload: JsonObject, context: JsonObject): (name: string) => Json | undefined {
  return (name) => (Object.hasOwn(payload, name) ? payload[name] : ownValue(context, name));
}

function ownValue(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
