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
      .flatMap(([name, value]) => writtenForms(value).map((form) => [name, form] as const))
      .sort(([, a], [, b]) => b.length - a.length);
  }

  text(text: string): string {
    return this.#secrets.reduce((redacted, [name, value]) => redacted.replaceAll(value, `[secret ${name}]`), text);
  }

  /** Returns a JSON value of the same form without the secrets. */
  json<Said>(said: Said): Said {
    return this.#secrets.length === 0 ? said : (this.#redact(said as Json) as Said);
  }

  #redact(value: Json): Json {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#redact(item));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.text(key), this.#redact(item as Json)]));
  }
}

/** Returns a secret as texts contain it: as it is, inside JSON, inside an address, and in the header of basic access. */
function writtenForms(secret: string): readonly string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const base64 = Buffer.from(secret).toString("base64");
  return [...new Set([secret, inJson, encodeURIComponent(secret), base64, base64.replaceAll("=", "")])];
}
