import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Where a compiled file names another one. */
const NAMED = /((?:from |import |import\()")(\.{1,2}\/[^"]+)"/g;

interface Module {
  text: string;
  readonly needs: readonly string[];
}

/** A compiled file and all that it loads, some of which may be changed. */
export class Modules {
  readonly #root: string;
  readonly #all = new Map<string, Module>();
  readonly #edited = new Set<string>();

  constructor(root: string, first: string) {
    this.#root = root;
    this.#load(first);
  }

  #load(file: string): void {
    if (this.#all.has(file)) return;
    const text = readFileSync(join(this.#root, file), "utf8");
    const needs = Array.from(text.matchAll(NAMED), ([, , name = ""]) => join(dirname(file), name));
    this.#all.set(file, { text, needs });
    for (const each of needs) this.#load(each);
  }

  /** The text must be there exactly once. */
  replace(file: string, find: string, by: string): void {
    const module = this.#all.get(file);
    const times = (module?.text.split(find).length ?? 1) - 1;
    if (module === undefined || times !== 1)
      throw new Error(`${file} has ${times} places that say ${JSON.stringify(find)}, not one; plant it anew`);
    module.text = module.text.replace(find, () => by);
    this.#edited.add(file);
  }

  /** What has to be loaded anew, with its text in a folder from which this path leads back to the root. */
  *changed(back: string): Iterable<readonly [file: string, text: string]> {
    const anew = this.#leadingTo(this.#edited);
    for (const file of anew) {
      const away = (whole: string, before: string, name: string) => {
        const needed = join(dirname(file), name);
        if (anew.has(needed)) return whole;
        return `${before}${join(relative(dirname(file), "."), back, needed)}"`;
      };
      yield [file, (this.#all.get(file) as Module).text.replaceAll(NAMED, away)];
    }
  }

  /** These, whatever loads them, whatever loads that, … */
  #leadingTo(files: ReadonlySet<string>): ReadonlySet<string> {
    const found = new Set(files);
    for (let size = 0; size !== found.size; ) {
      size = found.size;
      for (const [file, { needs }] of this.#all) if (needs.some((each) => found.has(each))) found.add(file);
    }
    return found;
  }
}
