// A model on loopback: it answers chat completions from a script, with new call ids each time it is asked.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const call = (name, input) => ({
  id: `call_${randomUUID()}`,
  type: "function",
  function: { name, arguments: JSON.stringify(input) },
});

/** The answers, by the number of answers that the conversation has. Each takes the order that the customer names. */
const script = [
  (order) => ({ content: null, tool_calls: [call("orders.find", { order })] }),
  () => ({ content: null, tool_calls: [call("refund.amount", { cents: 1000, percent: 50 })] }),
  (order) => ({ content: null, tool_calls: [call("refund.pay", { order, cents: 500 })] }),
  () => ({ content: "Half of your order is paid back." }),
];

/** Starts the model. `asked` counts its requests. Each answer takes `delayMs`; `toolName` writes the names of tools. */
export async function startScriptedModel({ delayMs = 0, toolName = (name) => name } = {}) {
  let asked = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked += 1;
    const { messages } = JSON.parse(body);
    const given = messages.filter(({ role }) => role === "assistant").length;
    const customer = messages.find(({ role }) => role === "user").content;
    const message = { role: "assistant", ...script[given](Number(/order (\d+)/.exec(customer)[1])) };
    for (const { function: called } of message.tool_calls ?? []) called.name = toolName(called.name);
    if (delayMs > 0) await sleep(delayMs);
    const finish_reason = message.tool_calls === undefined ? "stop" : "tool_calls";
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: `chat_${given}`, choices: [{ index: 0, message, finish_reason }] }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1/chat/completions`,
    get asked() {
      return asked;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
