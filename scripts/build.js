// Compiles src to dist, or with --bench src and bench to dist-bench (--sim, --crash and --chaos likewise), or
// with --console only the console. Prints to stderr only, because stdout belongs to the next program.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const modules = join(root, "dist-modules");
const program = ["bench", "sim", "crash", "chaos"].find((name) => process.argv.includes(`--${name}`));

/**
 * The files that are loaded together. Without these groups, a command loads sixty small files. A command, a store and the
 * parser of conditions stay in files of their own, which are loaded when they are needed.
 */
const chunkGroups = [
  { name: "version", test: /writ-version\.js$/, priority: 3 },
  {
    name: "engine",
    test: /dist-modules\/(core|engine|policy|expression\/lazy-cel|store\/(memory|rehearsal))/,
    priority: 2,
  },
  { name: "program", test: /dist-modules\/cli\/(?!commands|main)/, minShareCount: 2, priority: 1 },
];

if (process.argv.includes("--console")) await buildConsole();
else if (program === undefined) {
  compile("build", [dist, modules]);
  fixDeclarations(dist);
  await bundle();
  await buildConsole();
} else {
  compile(program, [join(root, `dist-${program}`)]);
}

function compile(project, outs) {
  for (const out of outs) rmSync(out, { recursive: true, force: true });
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  const args = [tsc, "--project", join(root, `tsconfig.${project}.json`)];
  const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

/** Rewrites `.ts` to `.js` in declarations, which the compiler does only in code. */
function fixDeclarations(out) {
  for (const file of readdirSync(out, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts")) continue;
    const path = join(out, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll(/((?:from |import\()"\.{1,2}\/[^"]+)\.ts"/g, '$1.js"'));
  }
}

/** Bundles the package into a few files, because loading four hundred takes longer than a typical command. */
async function bundle() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const input = { cli: join(modules, "cli", "main.js") };
  for (const { default: entry } of Object.values(exports)) {
    if (entry !== undefined) input[basename(entry, ".js")] = join(modules, basename(entry));
  }
  await build({
    root,
    configFile: false,
    logLevel: "error",
    plugins: [{ name: "URLs", enforce: "pre", transform: (text, id) => rewriteUrls(text, relative(modules, id)) }],
    build: {
      ssr: true,
      target: "node20",
      minify: false,
      emptyOutDir: false,
      outDir: dist,
      rolldownOptions: {
        input,
        output: {
          format: "es",
          entryFileNames: "[name].js",
          chunkFileNames: "[name].js",
          codeSplitting: { groups: chunkGroups },
        },
      },
    },
  });
  chmodSync(join(dist, "cli.js"), 0o755);
}

/** Rewrites relative URLs, because all code moves to one folder. */
function rewriteUrls(text, file) {
  return text.replaceAll(/new URL\("(\.[^"]*)", import\.meta\.url\)/g, (_, path) => {
    const moved = posix.join(posix.dirname(file), path);
    return `new URL("${moved.startsWith(".") ? moved : `./${moved}`}", import.meta.url)`;
  });
}

/** Builds the console: a page, its scripts and styles under names with their hash, and the licences of its libraries. */
async function buildConsole() {
  const out = join(dist, "console");
  await build({
    root: join(root, "console"),
    configFile: false,
    logLevel: "error",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      target: "es2022",
      outDir: out,
      emptyOutDir: true,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      license: { fileName: "licences.md" },
    },
  });
  const page = join(out, "index.html");
  const text = readFileSync(page, "utf8");
  const id = createHash("sha256").update(text).digest("base64url").slice(0, 16);
  writeFileSync(page, text.replace("<head>", `<head>\n    <meta name="writ-build" content="${id}" />`));
  for (const name of readdirSync(out, { recursive: true, encoding: "utf8" })) {
    if (/\.(?:js|css|html|svg|md)$/.test(name)) compress(join(out, name));
  }
}

/** Writes the compressed forms of a file beside it. */
function compress(path) {
  const bytes = readFileSync(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
