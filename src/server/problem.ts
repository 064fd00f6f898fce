import { type Fault, type FaultCategory, type FaultCode, FaultError, faults } from "../core/values/fault.ts";

/** A problem document (RFC 9457) with the code of the fault, and what the client can do. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** A code of docs/errors.md, or INTERNAL for a bug of the server. */
  readonly code: FaultCode | "INTERNAL";
  readonly next: string;
  readonly errors?: Fault["detail"];
  /** The id of the request, which the log of the server also has. */
  readonly request_id: string;
}

/** The status of a fault is that of its category, unless it is listed here. */
const codeStatuses: Partial<Record<FaultCode, number>> = {
  AUTH_REQUIRED: 401,
  LIMIT_EXCEEDED: 413,
  RATE_EXCEEDED: 429,
  SERVER_BUSY: 429,
};

const categoryStatuses: Readonly<Record<FaultCategory, number>> = {
  invalid_input: 400,
  conflict: 409,
  refused: 403,
  failed: 422,
  unavailable: 503,
  in_doubt: 409,
  waiting: 202,
  not_found: 404,
  storage: 503,
};

const nextSteps: Readonly<Record<FaultCategory, string>> = {
  invalid_input: "correct the request and send it again",
  conflict: "read the object again, and decide whether the request still applies",
  refused: "ask a person who may do this, or use a credential that may",
  failed: "read the run for the reason, mend it, then resume the run",
  unavailable: "send the same request again later, with the same Idempotency-Key if it has one",
  in_doubt: "look whether the act happened, then resolve it",
  waiting: "wait until a person has decided; the gate is in `errors`",
  not_found: "check the id and the tenant of the credential",
  storage: "send the same request again later, with the same Idempotency-Key if it has one",
};

/** A refusal of the HTTP layer itself, with a status that its fault does not have. */
export class HttpFault extends FaultError {
  readonly status: number;

  constructor(status: number, given: Fault) {
    super(given);
    this.status = status;
  }
}

/** Returns the problem document of a thrown value. A value that is no fault is a bug: nothing about it is shown. */
export function problemOf(thrown: unknown, request_id: string): Problem {
  if (!(thrown instanceof FaultError)) return internalProblem(request_id);
  const { code, message, detail } = thrown.fault;
  const { category, about } = faults[code];
  return {
    type: `urn:writ:fault:${code}`,
    title: about,
    status: thrown instanceof HttpFault ? thrown.status : (codeStatuses[code] ?? categoryStatuses[category]),
    detail: message,
    code,
    next: nextSteps[category],
    ...(detail !== undefined && { errors: detail }),
    request_id,
  };
}

function internalProblem(request_id: string): Problem {
  return {
    type: "urn:writ:fault:INTERNAL",
    title: "a bug of the server",
    status: 500,
    detail: "the server failed; its log has the request id",
    code: "INTERNAL",
    next: "send the same request again later, with the same Idempotency-Key if it has one",
    request_id,
  };
}
