import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

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

/** What no simulation loads, and need not be copied. */
const elsewhere = ["cli", "testing", "verifiers", "sqlite", "postgres"];

/** Makes a copy of the compiled engine and simulator with one wrong in it. */
export function plant({ name, also, ...edit }: Planted): { readonly main: string; remove(): void } {
  const folder = join(compiled, "planted", name.replaceAll(/\W+/g, "-"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const filter = (from: string) => !elsewhere.some((room) => from.endsWith(join("/", room)));
  for (const part of ["src", "sim"]) cpSync(join(compiled, part), join(folder, part), { recursive: true, filter });
  for (const each of also === undefined ? [edit] : [edit, also]) apply(folder, each);
  return {
    main: join(folder, "sim", "main.js"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function apply(folder: string, { file, find, replace }: Edit): void {
  const path = join(folder, "src", file);
  const text = readFileSync(path, "utf8");
  const times = text.split(find).length - 1;
  if (times !== 1) {
    throw new Error(`${file} has ${times} places that say ${JSON.stringify(find)}, not one; plant it anew`);
  }
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
}
