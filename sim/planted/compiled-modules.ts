import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Matches the path of a relative import. */
const IMPORT_PATH = /((?:from |import |import\()")(\.{1,2}\/[^"]+)"/g;

interface Module {
  text: string;
  readonly imports: readonly string[];
}

/** A compiled file and everything it imports, with replaced text. */
export class CompiledModules {
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
    const imports = Array.from(text.matchAll(IMPORT_PATH), ([, , name = ""]) => join(dirname(file), name));
    this.#all.set(file, { text, imports });
    for (const each of imports) this.#load(each);
  }

  /** Replaces text that must occur exactly once. */
  replace(file: string, find: string, by: string): void {
    const module = this.#all.get(file);
    const times = (module?.text.split(find).length ?? 1) - 1;
    if (module === undefined || times !== 1)
      throw new Error(
        `${file} contains ${JSON.stringify(find)} ${times} times instead of once: update the planted bug`,
      );
    module.text = module.text.replace(find, () => by);
    this.#edited.add(file);
  }

  /**
   * Returns the changed files and all files that import them. Imports of unchanged files point to the root, which
   * `back` reaches from the folder of the copies.
   */
  *changed(back: string): Iterable<readonly [file: string, text: string]> {
    const copied = this.#importersOf(this.#edited);
    for (const file of copied) {
      const redirect = (whole: string, before: string, name: string) => {
        const needed = join(dirname(file), name);
        if (copied.has(needed)) return whole;
        return `${before}${join(relative(dirname(file), "."), back, needed)}"`;
      };
      yield [file, (this.#all.get(file) as Module).text.replaceAll(IMPORT_PATH, redirect)];
    }
  }

  /** Returns these files and every file that imports one of them, directly or not. */
  #importersOf(files: ReadonlySet<string>): ReadonlySet<string> {
    const found = new Set(files);
    for (let size = 0; size !== found.size; ) {
      size = found.size;
      for (const [file, { imports }] of this.#all) if (imports.some((each) => found.has(each))) found.add(file);
    }
    return found;
  }
}
