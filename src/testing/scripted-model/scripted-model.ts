import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "../../core/values/json.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import {
  callId,
  type ModelProtocol,
  type ModelScript,
  type ScriptedAnswer,
  type StreamEvent,
  type WholeAnswer,
} from "./model-script.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";

/** A model on this machine that answers by a script, for tests and examples. */
export interface ScriptedModel {
  /** The base URL for clients of OpenAI. Clients of Anthropic use `origin`. */
  readonly url: string;
  readonly origin: string;
  /** The requests that were answered, in order. */
  readonly requests: readonly JsonObject[];
  close(): Promise<void>;
}

const protocols: readonly { readonly path: string; readonly protocol: ModelProtocol }[] = [
  { path: "/chat/completions", protocol: openAiChat },
  { path: "/responses", protocol: openAiResponses },
  { path: "/v1/messages", protocol: anthropicMessages },
];

/**
 * Starts a model on a free port of the loopback interface. It speaks the chat completions and the responses of OpenAI
 * and the messages of Anthropic, whole or as a stream. Its nth answer is the nth of the script, counted by the answers
 * in the messages of the request, so that it gives the same answer to the same conversation.
 */
export async function scriptedModel(script: ModelScript): Promise<ScriptedModel> {
  const requests: JsonObject[] = [];
  const server = createServer((request, response) => {
    void serve(request, response, script, requests).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref(); // A program that is done ends, although its model would still answer.
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `${origin}/v1`, origin, requests, close: () => closeServer(server) };
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  script: ModelScript,
  requests: JsonObject[],
): Promise<void> {
  const path = new URL(request.url ?? "/", "http://localhost").pathname;
  const spoken = protocols.find((each) => path.endsWith(each.path))?.protocol;
  const body = await readBody(request);
  if (spoken === undefined) return sendError(response, 404, `no model answers ${path}`);
  requests.push(body);
  const answered = spoken.answered(body);
  const answer = typeof script === "function" ? script(body, answered) : script[answered];
  if (answer === undefined) return sendError(response, 400, `the script has no answer ${answered + 1}`);
  if (answer.status !== undefined) return sendError(response, answer.status, answer.text ?? "scripted");
  const whole = wholeAnswer(answer, answered, body);
  if (body.stream === true) return sendStream(response, spoken, spoken.stream(whole, body), answer.cutAfter);
  sendWhole(response, Buffer.from(JSON.stringify(spoken.whole(whole))), answer.cutAfter);
}

function sendWhole(response: ServerResponse, body: Buffer, cutAfter = body.length): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  if (cutAfter < body.length) return void response.write(body.subarray(0, cutAfter), () => response.destroy());
  response.end(body);
}

async function readBody(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}") as JsonObject;
}

function wholeAnswer({ text, calls = [] }: ScriptedAnswer, answered: number, { model }: JsonObject): WholeAnswer {
  return {
    id: `answer_${answered + 1}`,
    model: typeof model === "string" ? model : "scripted",
    text: text ?? null,
    calls: calls.map(({ id, tool, input }, index) => ({
      id: id ?? callId(answered, index),
      tool,
      arguments: typeof input === "string" ? input : JSON.stringify(input),
    })),
  };
}

function sendError(response: ServerResponse, status: number, message: string): void {
  // A client that asks again waits for the time that the provider names.
  response.writeHead(status, { "content-type": "application/json", "retry-after-ms": "1" });
  response.end(JSON.stringify({ type: "error", error: { type: "scripted_error", message } }));
}

function sendStream(
  response: ServerResponse,
  { end }: ModelProtocol,
  events: readonly StreamEvent[],
  cutAfter = events.length,
): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const { event, data } of events.slice(0, cutAfter)) {
    const name = event === undefined ? "" : `event: ${event}\n`;
    response.write(`${name}data: ${JSON.stringify(data)}\n\n`);
  }
  // The connection is closed when the events before it are sent.
  if (cutAfter < events.length) return void response.write(":\n\n", () => response.destroy());
  response.end(end === null ? "" : `data: ${end}\n\n`);
}
