// An agent answers a customer. Its process is killed twice: while a person decides, and after the bank has paid. The third
// process answers. The bank has one payment, and the model was asked once for each answer.
import { fork } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine } from "writ";
import { sqlite } from "writ/sqlite";
import { startScriptedModel } from "./scripted-model.mjs";
import { paymentsIn } from "./tools.mjs";

const json = process.argv.includes("--json");
const print = json ? () => {} : (line) => console.log(line);
const folder = mkdtempSync(join(tmpdir(), "writ-support-"));
const store = join(folder, "writ.db");
const bank = join(folder, "bank.jsonl");
const ana = { id: "ana", kind: "person", tenant: "demo" };
const model = await startScriptedModel();

print("The first process works until a person has to decide, and is killed:");
await runAgent({}, async ({ kind }) => kind === "waits" && (await openGates()).length > 0);
print(`  held: ${(await openGates()).map(({ tool, input }) => `${tool} ${JSON.stringify(input)}`).join()}`);

await approveAll();
print("Ana approves. The second process pays, and is killed before the tool has answered:");
await runAgent({ dieAfterPayment: true }, async ({ kind }) => kind === "paid");
print(`  payments in the bank: ${paymentsIn(bank).length}`);

print("The third process finds the payment and answers the customer:");
const end = await runAgent({}, async () => false);
print(`  ${end.text}`);
await model.close();

const payments = paymentsIn(bank).length;
print(`The run is ${end.status}, the bank has ${payments} payment, and the model was asked ${model.asked} times.`);
if (json) console.log(JSON.stringify({ status: end.status, text: end.text, payments, asked: model.asked }));
process.exitCode = end.status === "completed" && payments === 1 && model.asked === 4 ? 0 : 1;

/** Runs the agent until it ends, or kills its process at the first message for which `isOver` is true. */
async function runAgent(settings, isOver) {
  const task = JSON.stringify({ store, bank, url: model.url, ...settings });
  const child = fork(new URL("./agent.mjs", import.meta.url), [task]);
  const end = {};
  child.on("message", async (message) => {
    Object.assign(end, message);
    if (await isOver(message)) child.kill("SIGKILL");
  });
  await new Promise((resolve) => child.on("exit", resolve));
  return end;
}

/** Uses the file as another process, such as a page for approvals. */
async function withEngine(work) {
  const engine = await createEngine({ store: sqlite(store), tools: [], work: false });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

function openGates() {
  return withEngine((engine) => engine.gates({ principal: ana }));
}

function approveAll() {
  return withEngine(async (engine) => {
    for (const { gate_id } of await engine.gates({ principal: ana })) await engine.approve(gate_id, { principal: ana });
  });
}
