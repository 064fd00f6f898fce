import { spawn } from "node:child_process";

/** The shell ends the command when the pipe closes, which happens however this process ends. */
const tied = `exec 3<&0
"$@" </dev/null & command=$!
(cat <&3 >/dev/null; kill $command 2>/dev/null) & watcher=$!
wait $command; status=$?
kill $watcher 2>/dev/null
exit $status`;

/** Runs a command that ends with this process. Returns its exit status and the seconds it took. */
export function runCommand(command, { env = process.env, cwd, output = "inherit" } = {}) {
  const started = performance.now();
  const shell = spawn("sh", ["-c", tied, "sh", ...command], { cwd, env, stdio: ["pipe", output, output] });
  shell.stdin.on("error", () => {}); // The pipe breaks when the command ends first.
  return new Promise((ended, failed) => {
    shell.once("error", failed);
    shell.once("exit", (status) => {
      shell.stdin.destroy();
      ended({ status: status ?? 1, seconds: Math.round((performance.now() - started) / 1000) });
    });
  });
}

/** Formats rows as a Markdown table. */
export function markdownTable(header, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(header), `|${"---|".repeat(header.length)}`, ...rows.map(line)].join("\n");
}
