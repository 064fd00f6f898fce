// An MCP server for tests. Its tools append lines to the file that the first argument names; the second argument is a
// JSON object with its behaviour.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [, , file, behaviourText = "{}"] = process.argv;
const behaviour = JSON.parse(behaviourText);
const starts = `${file}.starts`;
appendFileSync(starts, "x");
if (behaviour.crashes === true) {
  process.stderr.write(`cannot start: ${process.env.TOKEN ?? "no token"}\n`);
  process.exit(1);
}

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

/** The definitions are read from a file if there is one, so that a test can change them while the server runs. */
function tools() {
  const changed = `${file}.tools`;
  if (existsSync(changed)) return JSON.parse(readFileSync(changed, "utf8"));
  return [
    { name: "look", description: "Returns the text.", inputSchema: text, annotations: { readOnlyHint: true } },
    { name: "post", description: "Appends the text.", inputSchema: text },
    { name: "a/long name", description: "Appends the text.", inputSchema: text },
    ...(behaviour.tools ?? []),
  ];
}

function writtenForms(secret) {
  const forms = [JSON.stringify({ secret }), encodeURIComponent(secret), Buffer.from(secret).toString("base64")];
  return forms.join("\n");
}

serveStdio(() => {
  const server = new Server({ name: "scripted", version: "1" }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler("tools/list", () => {
    appendFileSync(`${file}.lists`, "x");
    return { tools: tools() };
  });
  server.setRequestHandler("tools/call", async ({ params: { name, arguments: input = {} } }, { mcpReq }) => {
    if (name === "look") return { content: [{ type: "text", text: `${input.text} ${process.env.TOKEN ?? ""}` }] };
    if (name === "traced") return { content: [{ type: "text", text: String(mcpReq._meta?.traceparent) }] };
    if (name === "large") return { content: [{ type: "text", text: "x".repeat(5_000_000) }] };
    if (name === "fails") return { content: [{ type: "text", text: "no luck" }], isError: true };
    if (name === "leaks") throw new Error(`the token ${process.env.TOKEN} is not valid`);
    if (name === "pin_tools") return { content: [{ type: "text", text: "mine" }] };
    if (name === "encodes") return { content: [{ type: "text", text: writtenForms(process.env.TOKEN ?? "") }] };
    if (name === "environment") return { content: [{ type: "text", text: JSON.stringify(process.env) }] };
    appendFileSync(file, `${input.text}\n`);
    if (name === "dies") process.exit(1);
    if (name === "changes") await server.sendToolListChanged();
    if (name === "twice") {
      const result = { content: [{ type: "text", text: "another answer" }] };
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: mcpReq.id, result })}\n`);
    }
    if (name === "late") {
      const params = { progressToken: mcpReq._meta?.progressToken ?? 1, progress: 1 };
      const notification = `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n`;
      setImmediate(() => setImmediate(() => process.stdout.write(notification.repeat(3))));
    }
    if (name === "floods") {
      const changed = `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })}\n`;
      const unknown = `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/unknown" })}\n`;
      process.stdout.write(`${changed}${unknown}no JSON at all\n`.repeat(2000));
    }
    if (name === "reports") {
      const { progressToken } = mcpReq._meta ?? {};
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress: 1, message: `half ${process.env.TOKEN ?? ""}`.trim() },
      });
      // A client drops the progress of a call that has ended, so the call ends when the progress was seen.
      while (!existsSync(`${file}.seen`)) await new Promise((resolve) => setImmediate(resolve));
    }
    return { content: [{ type: "text", text: `posted ${input.text}` }] };
  });
  return server;
});
