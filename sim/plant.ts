import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Edit, Planted } from "./planted.ts";

/** The folder that holds the compiled src and sim. */
const compiled = dirname(dirname(fileURLToPath(import.meta.url)));

/** Makes a copy of the compiled engine and simulator with one wrong in it. Answers with the copy's main file. */
export function plant({ name, also, ...edit }: Planted): string {
  const folder = join(compiled, "planted", name.replaceAll(/\W+/g, "-"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const part of ["src", "sim"]) cpSync(join(compiled, part), join(folder, part), { recursive: true });
  for (const each of also === undefined ? [edit] : [edit, also]) apply(folder, each);
  return join(folder, "sim", "main.js");
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
