import { canonicalJson } from "../json/canonical-json.ts";
import { parsePointer } from "../json/json-pointer.ts";
import { assert } from "../values/assert.ts";
import type { Json, JsonObject } from "../values/json.ts";

/** The form of an idempotency template: text with `{name}` placeholders and no other braces. */
const templatePattern = /^(?:[^{}]|\{[A-Za-z_][A-Za-z0-9_]*\})*$/;
const placeholderPattern = /\{(\w+)\}/g;

export function isTemplate(text: string): boolean {
  return templatePattern.test(text);
}

/** Returns the names of the placeholders, each once, in order. */
export function templatePlaceholders(template: string): readonly string[] {
  assert(isTemplate(template), "a template was checked before it is used");
  return [...new Set(Array.from(template.matchAll(placeholderPattern), ([, name]) => name as string))];
}

export type RenderedTemplate =
  | { readonly ok: true; readonly text: string }
  /** The placeholders without a value. An empty text instead would give different acts the same key. */
  | { readonly ok: false; readonly missing: readonly string[] };

/**
 * Puts values into a template so that no two sets of values give the same text: each value is canonical JSON between
 * braces, which marks its own end, and the template's own text has no braces.
 */
export function renderTemplate(template: string, lookup: (name: string) => Json | undefined): RenderedTemplate {
  const missing = templatePlaceholders(template).filter((name) => (lookup(name) ?? null) === null);
  if (missing.length > 0) return { ok: false, missing };
  const text = template.replaceAll(placeholderPattern, (_, name: string) => `{${canonicalJson(lookup(name) as Json)}}`);
  return { ok: true, text };
}

/** Returns the top-level keys of a payload that bindings fill, completely or in part. */
export function boundPayloadKeys(bindings: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  return new Set(Object.keys(bindings).flatMap((pointer) => parsePointer(pointer)?.slice(0, 1) ?? []));
}

export interface TemplateSources {
  readonly payload: JsonObject;
  readonly bound: ReadonlySet<string>;
  readonly context: JsonObject;
}

/**
 * Returns the source of a placeholder, or null. A payload key with the value null hides the context and gives no value.
 */
export function placeholderSource(
  name: string,
  { payload, bound, context }: TemplateSources,
): "binding" | "payload" | "context" | null {
  if (bound.has(name)) return "binding";
  if (Object.hasOwn(payload, name)) return payload[name] === null ? null : "payload";
  return Object.hasOwn(context, name) && context[name] !== null ? "context" : null;
}

/** Returns the lookup for `renderTemplate`: the payload with resolved bindings first, then the context. */
export function templateLookup(payload: JsonObject, context: JsonObject): (name: string) => Json | undefined {
  return (name) => (Object.hasOwn(payload, name) ? payload[name] : ownValue(context, name));
}

function ownValue(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
