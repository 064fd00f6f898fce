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
  /** More edits, where the engine would otherwise prevent the harm elsewhere, or the bug would need a rare moment. */
  readonly also?: TextEdit | readonly TextEdit[];
  /**
   * Where to search: in the engine on a store in memory (default), in the processes of one SQLite file, in sessions, or
   * in random plans that are compared with a model.
   */
  readonly simulation?: "engine" | "file" | "sessions" | "plans";
}

/** Returns all edits of a bug. */
export function editsOf({ file, find, replace, also = [] }: PlantedBug): readonly TextEdit[] {
  return [{ file, find, replace }, ...(Array.isArray(also) ? also : [also])];
}

/** The module that searches with the bug, the one that searches without it, and their function. */
interface PlantedSearch {
  readonly module: string;
  readonly plainModule: string;
  readonly name: string;
  remove(): void;
}

/** The folder that holds the compiled src and sim. */
const compiled = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The module of each search, and its function. */
const searches = {
  engine: { module: join("sim", "search-seeds.js"), name: "searchSeeds" },
  file: { module: join("sim", "processes", "search-file-seeds.js"), name: "searchFileSeeds" },
  plans: { module: join("sim", "plans", "search-plan-cases.js"), name: "searchPlanCases" },
  sessions: { module: join("sim", "sessions", "search-session-seeds.js"), name: "searchSessionSeeds" },
} as const;

/**
 * Puts one bug into a copy of the compiled engine: of the changed files and all files that import them. The other files
 * are shared by all bugs, so a process loads them once.
 */
export function plantBug(bug: PlantedBug): PlantedSearch {
  const folder = join(compiled, "planted", bug.name.replaceAll(/\W+/g, "-"));
  const { module, name } = searches[bug.simulation ?? "engine"];
  const modules = new CompiledModules(compiled, module);
  for (const { file, find, replace } of editsOf(bug)) modules.replace(join("src", file), find, replace);
  rmSync(folder, { recursive: true, force: true });
  for (const [file, text] of modules.changed(relative(folder, compiled))) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return {
    name,
    module: pathToFileURL(join(folder, module)).href,
    plainModule: pathToFileURL(join(compiled, module)).href,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
