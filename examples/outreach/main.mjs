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
const attended = process.stdin.isTTY && process.stdout.isTTY && !flags.yes;
const say = flags.json ? () => {} : (line = "") => console.log(line);
const ana = { id: "ana", kind: "person", tenant: "demo" };

const home = mkdtempSync(join(tmpdir(), "writ-demo-"));
const store = join(home, "writ.db");
const mailbox = join(home, "mailbox");
let kills = 0;
const seen = new Map(); // How far each run has been shown.
const opened = new Set(); // The gates that have been shown.
let victim = null; // The worker that dies when its mail has been delivered and not yet been answered.
const smtp = await startMailServer(mailbox, async () => {
  if (victim === null) return;
  const dying = victim;
  victim = null;
  kills += 1;
  say("  ✂ the mail is in the mailbox, its sender does not know yet: kill -9");
  dying.kill("SIGKILL");
});

say("Six steps: summarize, align, draft, review, apply (a person looks), send (a person approves).\n");
const first = await work({ professor: "Ada" }, { killInFlight: true });
say(first === null ? "\nThe worker is dead. A new one takes up the run from the record:\n" : "");
const result = first ?? (await work({ professor: "Ada" }));
say(
  `\n${result.status}: the send is ${result.steps.send.state}, and the mailbox holds ${mailsIn(mailbox).length} mail.`,
);

say("\nThe same request once more:");
await work({ professor: "Ada" });
say(`  still ${mailsIn(mailbox).length} mail.`);

say("\nAnother professor, and a step that fails late:");
const broken = await work({ professor: "Bo", failApply: true });
const kept = broken.outcomes.map(({ type, status }) => `${type} (${status})`).join(", ");
say(
  `  ${broken.status}: ${broken.failed.map(({ step_id, fault }) => `${step_id} failed with ${fault.code}`).join(", ")}; kept: ${kept}.`,
);

await smtp.close();
const mails = mailsIn(mailbox).length;
if (flags.json) console.log(JSON.stringify({ status: result.status, mails, kills }));
say(
  `\nThe record is in ${store}. Look at it:\n  npx writ runs --store ${store} --tenant demo\n  npx writ audit --store ${store} --tenant demo`,
);
process.exitCode = result.status === "completed" && mails === 1 ? 0 : 1;

/** Runs a worker until the run has ended or the worker was killed (null); decides its gates from this process. */
async function work(settings, { killInFlight = false } = {}) {
  const child = fork(
    new URL("./worker.mjs", import.meta.url),
    [JSON.stringify({ store, port: smtp.port, mailbox, after: seen.get(settings.professor) ?? 0, ...settings })],
    {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    },
  );
  let last = null;
  let deciding = Promise.resolve();
  child.on("message", (message) => {
    if (message.kind === "submitted" && message.attached) say("  attached to the run that is already there");
    if (message.kind === "event") {
      seen.set(settings.professor, message.position);
      show(message.event);
    }
    if (message.kind === "rest") {
      last = message.result;
      if (killInFlight && last.gates.some((gate) => gate.step_id === "send")) victim = child;
      deciding = deciding.then(() => shown(last.gates)).then(() => decide(last.gates));
    }
  });
  const signal = await new Promise((resolve) => child.on("exit", (_code, by) => resolve(by)));
  await deciding;
  return signal === "SIGKILL" ? null : last;
}

/** The events of a gate come by their own way; the question waits until they have been seen. */
async function shown(gates) {
  while (gates.some((gate) => !opened.has(gate.gate_id))) await new Promise((resolve) => setTimeout(resolve, 10));
}

function show(event) {
  if (event.type === "gate.opened") opened.add(event.gate_id);
  const step = (event.step_id ?? "").padEnd(10);
  if (event.type === "step.started") say(`  ▸ ${step} started, on the record first`);
  if (event.type === "step.succeeded") say(`  ✓ ${step} ${event.reused ? "answered from the record" : "succeeded"}`);
  if (event.type === "step.failed") say(`  ✗ ${step} ${event.fault.message}`);
  if (event.type === "step.doubted") say(`  ? ${step} in doubt: ${event.fault.message}`);
  if (event.type === "step.settled") say(`  ✓ ${step} settled: ${event.settled.as}, ${event.reason}`);
  if (event.type === "gate.opened") say(`  ⏸ ${step} waits for a person: ${event.reason}`);
}

/** A second process on the same file, as `writ approve` would be. */
async function decide(gates) {
  if (gates.length === 0) return;
  const desk = await createEngine({ store: sqlite(store), tools: [], work: false });
  for (const gate of gates) {
    say(`\n  ${gate.tool} ${JSON.stringify(gate.input)}`);
    if (await agreed(`  Let it happen, exactly so? [y/n] `))
      await desk.approve(gate.gate_id, { principal: ana, reason: "read it" });
    else await desk.reject(gate.gate_id, { principal: ana, reason: "not like this" });
  }
  await desk.close();
}

async function agreed(question) {
  if (!attended) {
    say(`${question}y (nobody is asked: unattended)`);
    return true;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(question);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}
