import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { fault } from "../core/values/fault.ts";
import { answerHeaders } from "./answer-headers.ts";
import { assertRequestAllowed, type ServerAddresses } from "./assert-request-allowed.ts";
import { HttpFault, problemOf } from "./problem.ts";

/** Returns a listener that passes on the requests that are allowed. No URL can be made of some of the others. */
export function checkedListener(listener: RequestListener, addresses: () => ServerAddresses): RequestListener {
  return (incoming, outgoing) => {
    try {
      assertRequestAllowed(incoming, addresses());
    } catch (error) {
      refuse(error, outgoing);
      return;
    }
    listener(incoming, outgoing);
  };
}

/** Refuses a request that expects something that the server cannot do. */
export function refuseExpectation(_: IncomingMessage, outgoing: ServerResponse): void {
  refuse(new HttpFault(417, fault("INVALID_INPUT", "the server meets no such expectation; leave it out")), outgoing);
}

function refuse(error: unknown, outgoing: ServerResponse): void {
  const problem = problemOf(error, randomUUID());
  const text = JSON.stringify(problem);
  outgoing.writeHead(problem.status, {
    ...answerHeaders,
    "cache-control": "no-store",
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(text),
    "x-request-id": problem.request_id,
    // The body of the request was not read.
    connection: "close",
  });
  outgoing.end(text);
}
