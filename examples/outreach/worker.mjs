// The process that executes. It is killed in the middle on purpose; started again, it goes on where the record ends.
import { createEngine } from "writ";
import { sqlite } from "writ/sqlite";
import { outreachPlan, outreachTools } from "./tools.mjs";

const { store, port, mailbox, professor, failApply, after } = JSON.parse(process.argv[2]);
const engine = await createEngine({ store: sqlite(store), tools: outreachTools({ port, mailbox, failApply }) });
const principal = { id: "outreach-agent", kind: "agent", tenant: "demo" };
const run = await engine.submit(outreachPlan(professor), { principal });
process.send({ kind: "submitted", run_id: run.run_id, attached: run.attached });

const watching = new AbortController();
const events = (async () => {
  for await (const { position, event } of run.events({ after, follow: true, signal: watching.signal })) {
    process.send({ kind: "event", position, event });
  }
})();
let result = await run.result();
process.send({ kind: "rest", result });
while (!result.final && result.gates.length > 0) {
  result = await settled(result);
  process.send({ kind: "rest", result });
}
watching.abort();
await events;
await engine.close();
process.disconnect();

/** Waits until the gates that were open have been decided in the other process and the run has come to rest again. */
async function settled(held) {
  const decided = new Set(held.gates.map((gate) => gate.gate_id));
  for (;;) {
    const next = await run.result();
    if (next.final || !next.gates.some((gate) => decided.has(gate.gate_id))) return next;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
