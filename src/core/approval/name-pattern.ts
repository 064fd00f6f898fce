/** A pattern of names in which * matches any characters, also dots. No other character is special. */
export class NamePattern {
  readonly #parts: readonly string[];

  constructor(pattern: string) {
    this.#parts = pattern.split("*");
  }

  /** True if it matches every name. */
  get matchesAll(): boolean {
    return this.#parts.length > 1 && this.#parts.every((part) => part === "");
  }

  /**
   * The name starts with the first part, ends with the last, and contains the others in order, each found at its first
   * match.
   */
  matches(name: string): boolean {
    const [first, ...rest] = this.#parts as [string, ...string[]];
    const last = rest.pop();
    if (last === undefined) return name === first;
    if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false;
    const end = name.length - last.length;
    let at = first.length;
    for (const part of rest) {
      const found = name.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  }
}
