import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Planted } from "./planted.ts";

/** The folder that holds the compiled src and sim. */
const compiled = dirname(dirname(fileURLToPath(import.meta.url)));

/** Makes a copy of the compiled engine and simulator with one wrong in it. Answers with the copy's main file. */
export function plant({ name, file, find, replace }: Planted): string {
  const folder = join(compiled, "planted", name.replaceAll(" ", "-"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const part of ["src", "sim"]) cpSync(join(compiled, part), join(folder, part), { recursive: true });
  const path = join(folder, "src", file);
  const text = readFileSync(path, "utf8");
  const times = text.split(find).length - 1;
  if (times !== 1) throw new Error(`${name}: ${file} has ${times} places that say ${JSON.stringify(find)}, not one`);
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
  return join(folder, "sim", "main.js");
}
