// The process of the agent: a loop over a model. It is killed on purpose; the next process is the same program.
import { setTimeout as sleep } from "node:timers/promises";
import { createEngine, modelText } from "writ";
import { sqlite } from "writ/sqlite";
import { supportTools } from "./tools.mjs";

const { store, bank, url, dieAfterPayment, verifies } = JSON.parse(process.argv[2]);
/** Tells the other process, and never answers if that process kills this one. */
const onPaid = () => (dieAfterPayment ? new Promise(() => process.send({ kind: "paid" })) : undefined);

const engine = await createEngine({ store: sqlite(store), tools: supportTools({ bank, onPaid, verifies }) });
const principal = { id: "support-agent", kind: "agent", tenant: "demo" };
const run = await engine.openRun({ session: "ticket-42", principal, waitMs: 30_000 });

const messages = [{ role: "user", content: "I want half of order 42 back." }];
for (;;) {
  const request = { model: "scripted", messages: [...messages] };
  const { content, final } = await run.recordModelCall(request, ({ signal }) =>
    fetch(url, { method: "POST", body: JSON.stringify(request), signal }).then((response) => response.json()),
  );
  const { message } = content.json.choices[0];
  messages.push(message);
  if (final) break;
  const proposed = message.tool_calls.map(({ id, function: { name, arguments: input } }) => ({
    id,
    tool: name,
    input: JSON.parse(input),
  }));
  // A person decides, so this waits. The other process is told that it does.
  const told = setInterval(() => process.send({ kind: "waits" }), 50);
  const answers = await untilSettled(proposed);
  clearInterval(told);
  for (const [index, { id }] of proposed.entries())
    messages.push({ role: "tool", tool_call_id: id, content: modelText(answers[index]).text });
}
process.send({ kind: "said", text: messages.at(-1).content });
const { status } = await run.close();
await engine.close();
process.send({ kind: "closed", status });
process.disconnect();

/** Makes the calls. A call that is held, waits or is in doubt has no answer yet: a person or a verifier finds out. */
async function untilSettled(calls) {
  for (;;) {
    const answers = await run.callTools(calls, { waitMs: 60_000 });
    if (!answers.some(({ status }) => ["held", "waiting", "in_doubt"].includes(status))) return answers;
    await sleep(50);
  }
}
