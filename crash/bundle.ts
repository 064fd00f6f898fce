import { cpSync, existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { type Patch, patched } from "./patch.ts";

/** Where the package lives, whether this file is still TypeScript or compiled to a folder beside it. */
export const root = rootAbove(dirname(fileURLToPath(import.meta.url)));

/** The package that is put to the proof, file by file as it is compiled. */
export const dist = join(root, "dist-modules");

function rootAbove(folder: string): string {
  return existsSync(join(folder, "package-lock.json")) ? folder : rootAbove(dirname(folder));
}

/** The programs that are started as processes of their own. */
export type Program = "child" | "killer" | "neighbour" | "preload" | "replayer";

const programs: readonly Program[] = ["child", "killer", "neighbour", "preload", "replayer"];

/**
 * Puts each program and the built package under it into one file: a process that is to be killed soon should not spend
 * its life reading two hundred modules.
 */
export function bundle(out: string, names = programs, patches: readonly Patch[] = []): Promise<void> {
  const input = Object.fromEntries(names.map((name) => [name, join(root, "crash", `${name}.ts`)]));
  return bundleOf(input, ["store/sqlite/migrations"], dist, out, patches);
}

/** The same for any programs, with what the package looks for beside its own files. */
export async function bundleOf(
  input: Readonly<Record<string, string>>,
  beside: readonly string[],
  built: string,
  out: string,
  patches: readonly Patch[] = [],
): Promise<void> {
  if (!existsSync(join(built, "index.js"))) throw new Error(`there is no package in ${built}; run npm run build`);
  await build({
    root,
    configFile: false,
    logLevel: "error",
    plugins: [
      {
        name: "the built package",
        enforce: "pre",
        resolveId: (id, from) => asBuilt(id, from, built),
        transform: (text, id) => patched(relative(built, id), text, patches),
      },
    ],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: "node20",
      minify: false,
      outDir: out,
      rolldownOptions: {
        input: { ...input },
        external: ["@photostructure/sqlite"],
        output: { format: "es", entryFileNames: "[name].js", chunkFileNames: "[name].js" },
      },
    },
  });
  for (const path of beside) cpSync(join(built, path), join(out, basename(path)), { recursive: true });
}

/** What our programs import from the source is taken from the built package instead. */
function asBuilt(id: string, from: string | undefined, built: string): string | null {
  if (from === undefined || !id.startsWith(".")) return null;
  const inSource = relative(join(root, "src"), resolve(dirname(from), id));
  return inSource.startsWith("..") ? null : join(built, inSource.replace(/\.ts$/, ".js"));
}
