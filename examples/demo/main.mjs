// The program behind `npm start`. At a terminal: a server with the web console, kept alive by this process, and agents to
// watch. Without a terminal, or with --terminal: the outreach flow, from its start to its end, in text.
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { shortTimes, startSupervisor, usualTimes } from "./supervisor.mjs";

const usualPort = 4111;
const help = `npm start                      the web console with the demo, at a terminal
npm start -- --port 4200       on this port
npm start -- --terminal        the demo in the terminal; also used without a terminal, for example in CI
npm start -- --console         the web console also without a terminal
npm start -- --short-waits     the mail server, the bank and the model answer sooner`;

const { values: flags } = parseArgs({
  options: {
    terminal: { type: "boolean" },
    console: { type: "boolean" },
    port: { type: "string" },
    "short-waits": { type: "boolean" },
    yes: { type: "boolean" },
    json: { type: "boolean" },
    help: { type: "boolean" },
  },
});
const isAtTerminal = process.stdin.isTTY && process.stdout.isTTY && process.env.CI === undefined;

if (flags.help) console.log(help);
else if (flags.terminal || flags.yes || flags.json || !(isAtTerminal || flags.console)) runInTerminal();
else await runConsole(await freePort(flags.port === undefined ? usualPort : Number(flags.port)));

function runInTerminal() {
  const program = fileURLToPath(new URL("../outreach/main.mjs", import.meta.url));
  const args = [...(flags.yes ? ["--yes"] : []), ...(flags.json ? ["--json"] : [])];
  const child = spawn(process.execPath, [program, ...args], { stdio: "inherit" });
  child.on("exit", (code, signal) => {
    process.exitCode = signal === null ? code : 1;
  });
}

async function runConsole(port) {
  const folder = mkdtempSync(join(tmpdir(), "writ-demo-"));
  const time = () => new Date().toTimeString().slice(0, 8);
  const supervisor = await startSupervisor({
    folder,
    port,
    env: process.env,
    times: flags["short-waits"] ? shortTimes : usualTimes,
    onNote: (text) => console.log(`  ${time()}  ${text}`),
    onLink: (link, starts) => {
      if (link === null) return void end(1);
      const page = link.replace("/#", "/demo#");
      if (starts === 1) console.log(`\n  Open this link (it works once):\n\n    ${page}\n\n  Ctrl-C ends the demo.\n`);
      else console.log(`  ${time()}  The page reconnects by itself. For another browser: ${page}`);
    },
  });
  let isEnding = false;
  const end = async (code) => {
    if (isEnding) return;
    isEnding = true;
    await supervisor.stop();
    console.log(`\n  The demo has ended. Its record is in ${join(folder, "writ.db")}:\n`);
    console.log(`    npx writ runs --store ${join(folder, "writ.db")} --tenant demo`);
    process.exit(code);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void end(0));
}

/** Returns the port, or a free one if another program uses it. */
async function freePort(wanted) {
  const taken = (port) =>
    new Promise((resolve, reject) => {
      const server = createServer().once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        const bound = server.address().port;
        server.close(() => resolve(bound));
      });
    });
  return taken(wanted).catch((error) => {
    if (error.code !== "EADDRINUSE") throw error;
    return taken(0);
  });
}
