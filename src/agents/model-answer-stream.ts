import type { ModelAnswer } from "../engine/api/model-api.ts";
import { withDistinctIds } from "./distinct-call-ids.ts";

const encoder = new TextEncoder();

/** The start of a tool call in an event of a stream, in the protocols of OpenAI, Anthropic and Google. */
const CALL =
  /"(?:tool_calls|function_call|functionCall)"\s*:\s*[[{]|"type"\s*:\s*"(?:[a-z_]*tool_use|[a-z_]+_call|tool-call)"/u;

/**
 * The stream of a model's answer while it is recorded. Texts pass at once. From the first tool call on, everything is
 * kept until the answer is on record. Otherwise the agent could make a call, and after a crash the model would be asked
 * again and give that call another id.
 */
export class ModelAnswerStream {
  /** The headers of the live response. Null: the answer comes from the journal. */
  headers: Headers | null = null;
  /** Resolves to null when the first event passes. */
  readonly opened: Promise<null>;
  #open: (none: null) => void = () => {};
  #text = "";
  #isKept = false;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  readonly #stream: ReadableStream<Uint8Array>;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
    this.#stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => {
        this.#controller = null;
      },
    });
  }

  /** Takes a piece of the stream. Only whole events pass. */
  push(piece: string): void {
    this.#text += piece;
    while (!this.#isKept) {
      const end = /\r?\n\r?\n/u.exec(this.#text);
      if (end === null) return;
      const event = this.#text.slice(0, end.index + end[0].length);
      if (CALL.test(event)) {
        this.#isKept = true;
        return;
      }
      this.#text = this.#text.slice(event.length);
      this.#send(event);
    }
  }

  #send(text: string): void {
    if (text === "") return;
    this.#controller?.enqueue(encoder.encode(text));
    this.#open(null);
  }

  /** Ends the stream when the answer is on record, or fails it. The text that was kept is handed over with other ids. */
  endWith(recorded: Promise<ModelAnswer>): void {
    recorded.then(
      ({ step_id }) => {
        this.#send(withDistinctIds({ form: "text", text: this.#text }, step_id).text);
        this.#controller?.close();
        this.#controller = null;
      },
      (error: unknown) => {
        this.#controller?.error(error);
        this.#controller = null;
      },
    );
  }

  response(): Response {
    return new Response(this.#stream, { headers: this.responseHeaders("text/event-stream") });
  }

  /** The headers of the live response, without those about the bytes that were sent. */
  responseHeaders(type: string): Headers {
    const headers = new Headers(this.headers ?? {});
    for (const name of ["content-encoding", "content-length", "transfer-encoding"]) headers.delete(name);
    headers.set("content-type", type);
    return headers;
  }
}
