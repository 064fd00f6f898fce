// The process that executes. It is killed in the middle on purpose; a new process continues from the record.
import { createEngine } from "writ";
import { sqlite } from "writ/sqlite";
import { outreachPlan, outreachTools } from "./tools.mjs";

const { store, port, mailbox, professor, failApply, after } = JSON.parse(process.argv[2]);
const engine = await createEngine({ store: sqlite(store), tools: outreachTools({ port, mailbox, failApply }) });
const principal = { id: "outreach-agent", kind: "agent", tenant: "demo" };
const run = await engine.submit(outreachPlan(professor), { principal });
process.send({ kind: "submitted", run_id: run.run_id, attached: run.attached });

const eventsAbort = new AbortController();
const events = (async () => {
  for await (const { position, event } of run.events({ after, follow: true, signal: eventsAbort.signal })) {
    process.send({ kind: "event", position, event });
  }
})();
let result = await run.result();
process.send({ kind: "result", result });
while (!result.final && result.gates.length > 0) {
  result = await waitForDecisions(result);
  process.send({ kind: "result", result });
}
eventsAbort.abort();
await events;
await engine.close();
process.disconnect();

/** Waits until the other process has decided the open gates and the run has ended or waits again. */
async function waitForDecisions(waiting) {
  const decided = new Set(waiting.gates.map((gate) => gate.gate_id));
  for (;;) {
    const next = await run.result();
    if (next.final || !next.gates.some((gate) => decided.has(gate.gate_id))) return next;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
