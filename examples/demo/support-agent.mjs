// The process of the support agent: a loop over a model, through the adapter of its provider. It shares the store with the
// server. Killed anywhere, it is started again with the same ticket and continues.
import { setTimeout as sleep } from "node:timers/promises";
import { createEngine } from "writ";
import { govern } from "writ/agents";
import { sqlite } from "writ/sqlite";
import { paymentsIn, supportTools } from "../support-agent/tools.mjs";
import { demoSettings } from "./demo-settings.mjs";
import { engineRules } from "./engine-rules.mjs";
import { startConversation } from "./model-conversation.mjs";

const { store, bank, model, answerMs, ticket, order } = demoSettings();
// It ends with its supervisor.
process.once("disconnect", () => process.exit());

/** The bank has the payment. It answers some seconds later, so that there is time to kill this process. */
const onPaid = async () => {
  process.send({ kind: "acting", what: "payment" });
  await sleep(answerMs);
};
const tools = supportTools({ bank, onPaid });
/** Providers accept no dot in the name of a tool. */
const nameOf = ({ name }) => name.replaceAll(".", "_");
const about = {
  "orders.find": "Finds an order of the shop, with its price in cents.",
  "refund.amount": "Computes a percentage of a price.",
  "refund.pay": "Pays an amount in cents back to the customer of an order.",
};

/** The preview of a refund: a person reads it before the bank is asked. */
const previewRefund = ({ order: paidBack, cents }) => ({
  paid: cents,
  of: `order ${paidBack}`,
  refunded_before: paymentsIn(bank)
    .filter((payment) => payment.order === paidBack)
    .reduce((sum, payment) => sum + payment.cents, 0),
});

const engine = await createEngine({ store: sqlite(store), tools: [], ...engineRules });
const governed = await govern({
  engine,
  session: ticket,
  principal: { id: "support-agent", kind: "agent", tenant: "demo" },
  title: `Refund half of order ${order}`,
  hold: "wait",
  // After a kill the server may look after the run first.
  waitMs: 60_000,
  effects: Object.fromEntries(
    tools.map(({ name, effect, verify }) => [
      nameOf({ name }),
      { effect, ...(effect === "acts" && { identity: ["order"], verify, preview: previewRefund }) },
    ]),
  ),
});
process.send({ kind: "opened", run_id: governed.run.run_id });

const conversation = await startConversation(model, governed, {
  functions: Object.fromEntries(tools.map((tool) => [nameOf(tool), { input: tool.input.json, run: tool.run }])),
  descriptions: tools.map((tool) => ({
    name: nameOf(tool),
    description: about[tool.name],
    parameters: tool.input.json,
  })),
  system:
    "You are the support agent of a shop. Use the tools. Answer in one sentence when the customer has been helped.",
  question: `I want half of order ${order} back.`,
});
process.send({ kind: "said", text: await conversation() });
await governed.close();
await engine.close();
process.disconnect();
