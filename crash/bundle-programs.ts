import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { applySourcePatches, type SourcePatch } from "./source-patch.ts";

/** The root of the package, whether this file runs as TypeScript or compiled. */
export const packageRoot = findPackageRoot(dirname(fileURLToPath(import.meta.url)));

/** The folder of the compiled package that is tested. */
export const compiledPackage = join(packageRoot, "dist-modules");

function findPackageRoot(folder: string): string {
  return existsSync(join(folder, "package-lock.json")) ? folder : findPackageRoot(dirname(folder));
}

/** The programs that run in their own processes. */
const programNames = [
  "child",
  "hand-over-process",
  "killer",
  "other-process",
  "pair-member",
  "preload",
  "replayer",
  "stopped-process",
] as const;

export type ProgramName = (typeof programNames)[number];

/**
 * Bundles each program with the built package into one file, because a process that is killed soon should not spend its
 * time loading two hundred modules.
 */
export function bundlePrograms(
  out: string,
  names: readonly ProgramName[] = programNames,
  patches: readonly SourcePatch[] = [],
): Promise<void> {
  const input = Object.fromEntries(names.map((name) => [name, join(packageRoot, "crash", `${name}.ts`)]));
  return bundleWithPackage(input, compiledPackage, out, patches);
}

/** Bundles any programs with the built package. */
export async function bundleWithPackage(
  input: Readonly<Record<string, string>>,
  built: string,
  out: string,
  patches: readonly SourcePatch[] = [],
): Promise<void> {
  if (!existsSync(join(built, "index.js"))) throw new Error(`there is no package in ${built}; run npm run build`);
  await build({
    root: packageRoot,
    configFile: false,
    logLevel: "error",
    plugins: [
      {
        name: "the built package",
        enforce: "pre",
        resolveId: (id, from) => resolveToCompiled(id, from, built),
        transform: (text, id) => applySourcePatches(relative(built, id), text, patches),
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
}

/** Resolves imports of the source to the built package. */
function resolveToCompiled(id: string, from: string | undefined, built: string): string | null {
  if (from === undefined || !id.startsWith(".")) return null;
  const inSource = relative(join(packageRoot, "src"), resolve(dirname(from), id));
  return inSource.startsWith("..") ? null : join(built, inSource.replace(/\.ts$/, ".js"));
}
