/** A refusal or a failure of the server, as its problem document says it. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  /** The next action of the person. */
  readonly next: string;
  readonly details: unknown;
  readonly requestId: string | null;

  constructor(given: {
    readonly status: number;
    readonly code: string;
    readonly detail: string;
    readonly next: string;
    readonly details?: unknown;
    readonly requestId?: string | null;
  }) {
    super(given.detail);
    this.status = given.status;
    this.code = given.code;
    this.next = given.next;
    this.details = given.details;
    this.requestId = given.requestId ?? null;
  }
}

/** Reads the problem document of an answer that is not a success. */
export async function readProblem(response: Response): Promise<ApiProblem> {
  const body: unknown = await response.json().catch(() => null);
  const fields = typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  const text = (name: string, otherwise: string) => (typeof fields[name] === "string" ? fields[name] : otherwise);
  return new ApiProblem({
    status: response.status,
    code: text("code", "UNKNOWN"),
    detail: text("detail", `the server answered ${response.status}`),
    next: text("next", "load the page again"),
    details: fields.errors,
    requestId: text("request_id", "") || null,
  });
}

/** Returns any thrown value as a problem: a request that did not reach the server is one, too. */
export function toProblem(thrown: unknown): ApiProblem {
  if (thrown instanceof ApiProblem) return thrown;
  if (thrown instanceof TypeError)
    return new ApiProblem({
      status: 0,
      code: "SERVER_UNREACHABLE",
      detail: "the server did not answer",
      next: "check that writ serve runs; the page tries again by itself",
    });
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return new ApiProblem({ status: 0, code: "PAGE_FAILED", detail, next: "load the page again" });
}
