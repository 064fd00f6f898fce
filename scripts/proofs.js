// Runs the long proofs one after another and prints a table. `--bench` adds the benchmarks, `--list` only prints the
// commands.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { markdownTable, runCommand } from "./run-command.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const proofs = [
  ["npm", "run", "--silent", "crash"],
  ["npm", "run", "--silent", "chaos"],
  ["npm", "run", "--silent", "chaos", "--", "--store", "sqlite"],
  ["npm", "run", "--silent", "chaos", "--", "--store", "sqlite", "--bugs"],
  ["npm", "run", "--silent", "sim", "--", "--json", "--steps", "10000000"],
  ["npm", "run", "--silent", "sim", "--", "--json", "--plans", "--steps", "1100000", "--planted", "none"],
  ["npm", "run", "--silent", "properties"],
  ["npm", "run", "--silent", "check:cases"],
  ["npm", "run", "--silent", "check:bugs"],
  ["npm", "run", "--silent", "check:server"],
  ["npm", "run", "--silent", "matrix"],
];
const benchmarks = [["npm", "run", "--silent", "bench"]];

const { values } = parseArgs({
  options: { bench: { type: "boolean", default: false }, list: { type: "boolean", default: false } },
});
const commands = values.bench ? [...proofs, ...benchmarks] : proofs;
if (values.list) console.log(commands.map((command) => command.join(" ")).join("\n"));
else await runProofs();

/** Runs every proof, also after one has failed. */
async function runProofs() {
  const rows = [];
  for (const command of commands) {
    const proof = command.join(" ");
    console.error(`\n== ${proof}`);
    const { status, seconds } = await runCommand(command, { cwd: root });
    rows.push([`\`${proof}\``, status === 0 ? "passed" : `failed (exit ${status})`, seconds]);
    if (status !== 0) process.exitCode = 1;
  }
  console.log(`\n${markdownTable(["proof", "result", "seconds"], rows)}`);
}
