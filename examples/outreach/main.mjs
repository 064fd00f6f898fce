// The demo behind `npm start`: an agent's outreach flow with one real mail, one approval, one kill, and still one mail.
import { fork } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { createEngine } from "writ";
import { sqlite } from "writ/sqlite";
import { mailsIn, startMailServer } from "./mail-server.mjs";

const { values: flags } = parseArgs({ options: { yes: { type: "boolean" }, json: { type: "boolean" } } });
const isInteractive = process.stdin.isTTY && process.stdout.isTTY && !flags.yes;
const print = flags.json ? () => {} : (line = "") => console.log(line);
const ana = { id: "ana", kind: "person", tenant: "demo" };

const folder = mkdtempSync(join(tmpdir(), "writ-demo-"));
const store = join(folder, "writ.db");
const mailbox = join(folder, "mailbox");
let kills = 0;
const lastPositions = new Map(); // The last position shown of each run.
const shownGates = new Set(); // The gates that have been shown.
let workerToKill = null; // The worker to kill after its mail is delivered and before it is answered.
const smtp = await startMailServer(mailbox, async () => {
  if (workerToKill === null) return;
  const worker = workerToKill;
  workerToKill = null;
  kills += 1;
  print("  ✂ the mail is in the mailbox, the worker has no answer yet: kill -9");
  worker.kill("SIGKILL");
});

print("Six steps: summarize, align, draft, review, apply (a person confirms), send (a person approves).\n");
const first = await work({ professor: "Ada" }, { killInFlight: true });
print(first === null ? "\nThe worker is dead. A new worker continues the run from the record:\n" : "");
const result = first ?? (await work({ professor: "Ada" }));
print(
  `\n${result.status}: the send is ${result.steps.send.state}, and the mailbox holds ${mailsIn(mailbox).length} mail.`,
);

print("\nThe same request again:");
await work({ professor: "Ada" });
print(`  still ${mailsIn(mailbox).length} mail.`);

print("\nAnother professor, and a step that fails at the end:");
const broken = await work({ professor: "Bo", failApply: true });
const outcomes = broken.outcomes.map(({ type, status }) => `${type} (${status})`).join(", ");
print(
  `  ${broken.status}: ${broken.failed.map(({ step_id, fault }) => `${step_id} failed with ${fault.code}`).join(", ")}; kept: ${outcomes}.`,
);

await smtp.close();
const mails = mailsIn(mailbox).length;
if (flags.json) console.log(JSON.stringify({ status: result.status, mails, kills }));
print(
  `\nThe record is in ${store}. Look at it:\n  npx writ runs --store ${store} --tenant demo\n  npx writ audit --store ${store} --tenant demo`,
);
process.exitCode = result.status === "completed" && mails === 1 ? 0 : 1;

/** Runs a worker until the run ends, or until the worker is killed (null). Decides the gates from this process. */
async function work(settings, { killInFlight = false } = {}) {
  const child = fork(
    new URL("./worker.mjs", import.meta.url),
    [
      JSON.stringify({
        store,
        port: smtp.port,
        mailbox,
        after: lastPositions.get(settings.professor) ?? 0,
        ...settings,
      }),
    ],
    {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    },
  );
  let last = null;
  let deciding = Promise.resolve();
  child.on("message", (message) => {
    if (message.kind === "submitted" && message.attached) print("  attached to the existing run");
    if (message.kind === "event") {
      lastPositions.set(settings.professor, message.position);
      show(message.event);
    }
    if (message.kind === "result") {
      last = message.result;
      if (killInFlight && last.gates.some((gate) => gate.step_id === "send")) workerToKill = child;
      deciding = deciding.then(() => waitUntilShown(last.gates)).then(() => decide(last.gates));
    }
  });
  const signal = await new Promise((resolve) => child.on("exit", (_code, by) => resolve(by)));
  await deciding;
  return signal === "SIGKILL" ? null : last;
}

/** Waits until the events of the gates have been shown. */
async function waitUntilShown(gates) {
  while (gates.some((gate) => !shownGates.has(gate.gate_id))) await new Promise((resolve) => setTimeout(resolve, 10));
}

function show(event) {
  if (event.type === "gate.opened") shownGates.add(event.gate_id);
  const step = (event.step_id ?? "").padEnd(10);
  if (event.type === "step.started") print(`  ▸ ${step} start recorded`);
  if (event.type === "step.succeeded") print(`  ✓ ${step} ${event.reused ? "answered from the record" : "succeeded"}`);
  if (event.type === "step.failed") print(`  ✗ ${step} ${event.fault.message}`);
  if (event.type === "step.doubted") print(`  ? ${step} in doubt: ${event.fault.message}`);
  if (event.type === "step.settled") print(`  ✓ ${step} settled: ${event.settled.as}, ${event.reason}`);
  if (event.type === "gate.opened") print(`  ⏸ ${step} waits for a person: ${event.reason}`);
}

/** A second process on the same file, as `writ approve` would be. */
async function decide(gates) {
  if (gates.length === 0) return;
  const engine = await createEngine({ store: sqlite(store), tools: [], work: false });
  for (const gate of gates) {
    print(`\n  ${gate.tool} ${JSON.stringify(gate.input)}`);
    if (await askForApproval(`  Approve this call? [y/n] `))
      await engine.approve(gate.gate_id, { principal: ana, reason: "read it" });
    else await engine.reject(gate.gate_id, { principal: ana, reason: "not as it is" });
  }
  await engine.close();
}

async function askForApproval(question) {
  if (!isInteractive) {
    print(`${question}y (unattended: approved automatically)`);
    return true;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(question);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}
