import type { Json } from "../values/json.ts";

/** The maximum number of characters of a preview. */
export const PREVIEW_CHARACTERS = 160;

/** Returns the beginning of the JSON text of a value. The cost is limited, however large the value is. */
export function jsonPreview(value: Json): string {
  const writer = new PreviewWriter();
  writer.write(value);
  return writer.text;
}

class PreviewWriter {
  #text = "";
  #isFull = false;

  get text(): string {
    return this.#isFull ? `${this.#text}…` : this.#text;
  }

  write(value: Json): void {
    if (typeof value === "string") this.#add(JSON.stringify(value.slice(0, PREVIEW_CHARACTERS + 1)));
    else if (typeof value !== "object" || value === null) this.#add(JSON.stringify(value));
    else if (Array.isArray(value)) this.#writeList(value);
    else this.#writeObject(value as Readonly<Record<string, Json>>);
  }

  #writeList(items: readonly Json[]): void {
    this.#add("[");
    for (const [index, item] of items.entries()) {
      if (this.#isFull) return;
      if (index > 0) this.#add(",");
      this.write(item);
    }
    this.#add("]");
  }

  #writeObject(fields: Readonly<Record<string, Json>>): void {
    let separator = "";
    this.#add("{");
    for (const name in fields) {
      if (this.#isFull) return;
      this.#add(`${separator}${JSON.stringify(name.slice(0, PREVIEW_CHARACTERS + 1))}:`);
      this.write(fields[name] as Json);
      separator = ",";
    }
    this.#add("}");
  }

  #add(text: string): void {
    if (this.#isFull) return;
    const left = PREVIEW_CHARACTERS - this.#text.length;
    this.#isFull = text.length > left;
    this.#text += text.slice(0, left);
  }
}
