/** Names by a pattern in which * stands for any number of characters, dots included. Nothing else in it is special. */
export class Glob {
  readonly #parts: readonly string[];

  constructor(pattern: string) {
    this.#parts = pattern.split("*");
  }

  /** The first part begins it, the last one ends it, and those between follow each other at the first place they are found. */
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
