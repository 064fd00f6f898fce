// A model on loopback: it answers chat completions from a script, with new call ids each time it is asked.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const call = (name, input) => ({
  id: `call_${randomUUID()}`,
  type: "function",
  function: { name, arguments: JSON.stringify(input) },
});

/** The answers, by the number of answers that the conversation has. */
const script = [
  () => ({ content: null, tool_calls: [call("orders.find", { order: 42 })] }),
  () => ({ content: null, tool_calls: [call("refund.amount", { cents: 1000, percent: 50 })] }),
  () => ({ content: null, tool_calls: [call("refund.pay", { order: 42, cents: 500 })] }),
  () => ({ content: "Half of your order is paid back." }),
];

/** Starts the model. `asked` counts its requests. */
export async function startScriptedModel() {
  let asked = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked += 1;
    const given = JSON.parse(body).messages.filter(({ role }) => role === "assistant").length;
    const message = { role: "assistant", ...script[given]() };
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
