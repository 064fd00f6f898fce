import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CompiledModules } from "./compiled-modules.ts";

/** One replacement in a compiled file. */
interface TextEdit {
  /** Below dist-sim/src. */
  readonly file: string;
  /** Exactly once in the file, or planting fails. */
  readonly find: string;
  readonly replace: string;
}

/** A small bug that is put into a copy of the compiled engine, which the simulator must find. */
export interface PlantedBug extends TextEdit {
  readonly name: string;
  /** A second edit, where the engine would otherwise detect the bug elsewhere. */
  readonly also?: TextEdit;
}

/** The folder that holds the compiled src and sim. */
const compiled = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The module that a search imports. */
const SEARCH_MODULE = join("sim", "search-seeds.js");

/**
 * Puts one bug into a copy of the compiled engine: of the changed files and all files that import them. The other files
 * are shared by all bugs, so a process loads them once.
 */
export function plantBug({ name, also, ...edit }: PlantedBug): { readonly search: string; remove(): void } {
  const folder = join(compiled, "planted", name.replaceAll(/\W+/g, "-"));
  const modules = new CompiledModules(compiled, SEARCH_MODULE);
  const edits = also === undefined ? [edit] : [edit, also];
  for (const { file, find, replace } of edits) modules.replace(join("src", file), find, replace);
  rmSync(folder, { recursive: true, force: true });
  for (const [file, text] of modules.changed(relative(folder, compiled))) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return {
    search: pathToFileURL(join(folder, SEARCH_MODULE)).href,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
