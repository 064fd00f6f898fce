import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";

/** The texts of responses that `sendText` writes itself. As a stream, a text would wait for a turn of the timers. */
const texts = new WeakMap<Response, string>();

/** Less fits into the buffers of a connection. */
const LARGE_TEXT = 64 * 1024;

/** Makes a response with a text that is known as a whole. */
export function textResponse(
  text: string,
  status: number,
  headers: Readonly<Record<string, string>> & { readonly "content-type": string },
): Response {
  const response = new Response(null, { status, headers });
  texts.set(response, text);
  return response;
}

/** Makes a response with a value as JSON. */
export function jsonResponse(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return textResponse(JSON.stringify(value), status, { "content-type": "application/json", ...headers });
}

/** Sends a response that has a known text. Returns any other as it is. */
export function sendText(response: Response, outgoing: ServerResponse, stallMs: number): Response {
  const text = texts.get(response);
  if (text === undefined) return response;
  const headers: Record<string, string | number> = Object.fromEntries(response.headers);
  // A client that does not read keeps the rest of a large text in memory, so it has a limited time.
  if (text.length > LARGE_TEXT) outgoing.setTimeout(stallMs, () => outgoing.destroy());
  outgoing.writeHead(response.status, { ...headers, "content-length": Buffer.byteLength(text) });
  outgoing.end(text);
  return RESPONSE_ALREADY_SENT;
}
