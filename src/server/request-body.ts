import type { IncomingMessage } from "node:http";
import { parseStrictJson } from "../core/json/strict-json.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import { httpLimits } from "./http-limits.ts";
import { HttpFault } from "./problem.ts";

/** Reads a JSON body. An absent one is an empty object. Calls `hold` with the size of each part that arrives. */
export async function readJsonBody(
  incoming: IncomingMessage,
  limit: number,
  hold: (bytes: number) => void = () => {},
): Promise<unknown> {
  const { headers } = incoming;
  if (headers["content-encoding"] !== undefined) throw unsupported("send the body without a content encoding");
  const bytes = await readBytes(incoming, limit, hold);
  if (bytes.length === 0) return {};
  if (!/^application\/json(?:;\s*charset=utf-8)?$/i.test(headers["content-type"] ?? ""))
    throw unsupported("send the body as application/json");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new FaultError(fault("INVALID_INPUT", "the body is not UTF-8"));
  }
  const limits = { bytes: limit, depth: httpLimits.bodyDepth, nodes: httpLimits.bodyValues };
  const json = parseStrictJson(text, limits);
  if (json.ok) return json.value;
  const reasons = json.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
  const message = `the body was refused: ${reasons.join("; ")}`;
  throw new FaultError(fault(json.tooLarge ? "LIMIT_EXCEEDED" : "INVALID_INPUT", message, { reasons }));
}

function unsupported(message: string): HttpFault {
  return new HttpFault(415, fault("INVALID_INPUT", message));
}

/** Reads a body within its limit. Nothing larger is ever kept. */
function readBytes(incoming: IncomingMessage, limit: number, hold: (bytes: number) => void): Promise<Uint8Array> {
  const tooLarge = () => new FaultError(fault("LIMIT_EXCEEDED", `the body is larger than ${limit} bytes`));
  if (Number(incoming.headers["content-length"] ?? 0) > limit) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let size = 0;
    const onPart = (part: Uint8Array) => {
      size += part.length;
      try {
        if (size > limit) throw tooLarge();
        hold(part.length);
        parts.push(part);
      } catch (error) {
        parts.length = 0;
        incoming.off("data", onPart); // The rest is not held.
        incoming.resume();
        reject(error);
      }
    };
    incoming.on("data", onPart);
    incoming.once("end", () => resolve(Buffer.concat(parts)));
    incoming.once("close", () => reject(new FaultError(fault("INVALID_INPUT", "the body was cut off"))));
  });
}
