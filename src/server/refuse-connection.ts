import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { fault } from "../core/values/fault.ts";
import { HttpFault, problemOf } from "./problem.ts";

const names: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** Answers a request that is no HTTP, or does not arrive in time, with a problem document, and closes its connection. */
export function refuseConnection({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const problem = problemOf(connectionFault(code), randomUUID());
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${names[problem.status]}`,
    "content-type: application/problem+json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

function connectionFault(code: string | undefined): HttpFault {
  if (code === "HPE_HEADER_OVERFLOW") return new HttpFault(431, fault("LIMIT_EXCEEDED", "the headers are too large"));
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new HttpFault(408, fault("LIMIT_EXCEEDED", "the request did not arrive in time; send it at once"));
  return new HttpFault(400, fault("INVALID_INPUT", "the request is not well-formed HTTP"));
}
