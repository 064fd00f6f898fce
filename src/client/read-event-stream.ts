/** One event of a stream of server-sent events. */
export interface StreamedEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: string;
}

/** Reads the events of a response until it ends. Comments are skipped. */
export async function* readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamedEvent> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(part, { stream: true });
    // The last piece may be incomplete.
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== null) yield event;
    }
  }
}

function parseBlock(block: string): StreamedEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const [, name = "", value = ""] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
    if (name !== "") fields.set(name, value);
  }
  const data = fields.get("data");
  return data === undefined ? null : { event: fields.get("event") ?? "message", id: fields.get("id") ?? null, data };
}
