import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Modules } from "./modules.ts";

/** One replacement in a compiled file. */
interface Edit {
  /** Below dist-sim/src. */
  readonly file: string;
  /** Exactly once in the file, or planting fails. */
  readonly find: string;
  readonly replace: string;
}

/** A small wrong that is put into a copy of the compiled engine, to see whether the simulator finds it. */
export interface Planted extends Edit {
  readonly name: string;
  /** Where the engine would catch it a second time. */
  readonly also?: Edit;
}

/** The folder that holds the compiled src and sim. */
const compiled = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What a hunt plays. */
const SEARCH = join("sim", "search.js");

/**
 * Puts one wrong into a copy of the compiled engine: of the files that it changes and of all that lead to them. The rest
 * is the same for every wrong, and whoever has loaded it need not load it again.
 */
export function plant({ name, also, ...edit }: Planted): { readonly search: string; remove(): void } {
  const folder = join(compiled, "planted", name.replaceAll(/\W+/g, "-"));
  const modules = new Modules(compiled, SEARCH);
  const edits = also === undefined ? [edit] : [edit, also];
  for (const { file, find, replace } of edits) modules.replace(join("src", file), find, replace);
  rmSync(folder, { recursive: true, force: true });
  for (const [file, text] of modules.changed(relative(folder, compiled))) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return {
    search: pathToFileURL(join(folder, SEARCH)).href,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
