import type { Json } from "../core/values/json.ts";

/** Shorter values occur in ordinary text, so they are not searched for. */
const MIN_LENGTH = 6;

/** Replaces the values of secrets in texts and results, so that they reach neither the journal nor a client. */
export class SecretRedactor {
  readonly #secrets: readonly (readonly [name: string, value: string])[];

  constructor(secrets: ReadonlyMap<string, string>) {
    // Longer values first: one secret may be a part of another.
    this.#secrets = [...secrets]
      .filter(([, value]) => value.length >= MIN_LENGTH)
      .sort(([, a], [, b]) => b.length - a.length);
  }

  text(text: string): string {
    return this.#secrets.reduce((redacted, [name, value]) => redacted.replaceAll(value, `[secret ${name}]`), text);
  }

  json(value: Json): Json {
    if (this.#secrets.length === 0) return value;
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.json(item));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.text(key), this.json(item as Json)]));
  }
}
