// Compiles src to dist, or with --bench src and bench to dist-bench (--sim, --crash and --chaos likewise), and puts the .sql files
// beside the code that reads them, as well as what a thread begins with. Everything it says goes to stderr: stdout belongs to whoever runs next.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const src = join(root, "src");
const dist = join(root, "dist");
const modules = join(root, "dist-modules");
const beside = ["bench", "sim", "crash", "chaos"].find((name) => process.argv.includes(`--${name}`));

if (beside === undefined) {
  compile("build", [dist, modules]);
  for (const out of [dist, modules]) copyAssets(out);
  nameDeclared(dist);
  await bundle();
} else {
  const out = join(root, `dist-${beside}`);
  compile(beside, [out]);
  copyAssets(join(out, "src"));
}

function compile(project, outs) {
  for (const out of outs) rmSync(out, { recursive: true, force: true });
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  const args = [tsc, "--project", join(root, `tsconfig.${project}.json`)];
  const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

function copyAssets(out) {
  for (const file of readdirSync(src, { recursive: true, encoding: "utf8" })) {
    if (/\.(?:sql|js)$/.test(file)) cpSync(join(src, file), join(out, file));
  }
}

/** The compiler rewrites `.ts` to `.js` in code but not in declarations, where it would point users to files we do not ship. */
function nameDeclared(out) {
  for (const file of readdirSync(out, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts")) continue;
    const path = join(out, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll(/((?:from |import\()"\.{1,2}\/[^"]+)\.ts"/g, '$1.js"'));
  }
}

/** What is shipped is a handful of files: reading four hundred takes a command longer than what it is asked for. */
async function bundle() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const input = { cli: join(modules, "cli", "main.js") };
  for (const { default: door } of Object.values(exports)) {
    if (door !== undefined) input[basename(door, ".js")] = join(modules, basename(door));
  }
  await build({
    root,
    configFile: false,
    logLevel: "error",
    plugins: [{ name: "assets", enforce: "pre", transform: (text, id) => assetsOf(text, relative(modules, id)) }],
    build: {
      ssr: true,
      target: "node20",
      minify: false,
      emptyOutDir: false,
      outDir: dist,
      rolldownOptions: { input, output: { format: "es", entryFileNames: "[name].js", chunkFileNames: "[name].js" } },
    },
  });
  chmodSync(join(dist, "cli.js"), 0o755);
}

/** What a module finds beside itself is where it was before, seen from the one folder that all code is in now. */
function assetsOf(text, file) {
  return text.replaceAll(/new URL\("(\.[^"]*)", import\.meta\.url\)/g, (_, path) => {
    const seen = posix.join(posix.dirname(file), path);
    return `new URL("${seen.startsWith(".") ? seen : `./${seen}`}", import.meta.url)`;
  });
}
