// Compiles src to dist, or with --bench src and bench to dist-bench (--sim, --crash and --chaos likewise), and puts the .sql files
// beside the code that reads them, as well as what a thread begins with. Everything it says goes to stderr: stdout belongs to whoever runs next.
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const beside = ["bench", "sim", "crash", "chaos"].find((name) => process.argv.includes(`--${name}`));
const project = join(root, `tsconfig.${beside ?? "build"}.json`);
const out = join(root, beside === undefined ? "dist" : `dist-${beside}`);
const src = join(root, "src");
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");

rmSync(out, { recursive: true, force: true });

const compiled = spawnSync(process.execPath, [tsc, "--project", project], { stdio: ["ignore", 2, 2] });
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

for (const file of readdirSync(src, { recursive: true, encoding: "utf8" })) {
  if (/\.(?:sql|js)$/.test(file)) cpSync(join(src, file), join(out, beside === undefined ? "" : "src", file));
}

// The compiler rewrites `.ts` to `.js` in code but not in declarations, where it would point users to files we do not ship.
for (const file of readdirSync(out, { recursive: true, encoding: "utf8" })) {
  if (!file.endsWith(".d.ts")) continue;
  const path = join(out, file);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replaceAll(/((?:from |import\()"\.{1,2}\/[^"]+)\.ts"/g, '$1.js"'));
}
