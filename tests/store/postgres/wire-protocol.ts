/** One message of the Postgres protocol: its type and all of its bytes. */
export interface WireMessage {
  readonly type: string;
  readonly bytes: Buffer;
}

const LENGTH_AT = 1;
const HEADER_BYTES = 5;

/** Splits a stream of bytes into messages. The first message of a client has no type; its type here is empty. */
export class WireMessages {
  #rest = Buffer.alloc(0);
  #isStarting: boolean;

  constructor(from: "client" | "server") {
    this.#isStarting = from === "client";
  }

  take(bytes: Buffer): readonly WireMessage[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const messages: WireMessage[] = [];
    for (let message = this.#next(); message !== null; message = this.#next()) messages.push(message);
    return messages;
  }

  #next(): WireMessage | null {
    const lengthAt = this.#isStarting ? 0 : LENGTH_AT;
    if (this.#rest.length < lengthAt + 4) return null;
    const end = lengthAt + this.#rest.readInt32BE(lengthAt);
    if (this.#rest.length < end) return null;
    const bytes = this.#rest.subarray(0, end);
    const type = this.#isStarting ? "" : String.fromCharCode(bytes[0] ?? 0);
    this.#isStarting = false;
    this.#rest = this.#rest.subarray(end);
    return { type, bytes };
  }
}

/** Returns the strings of a Parse message (name and statement) or a Bind message (portal and name). */
export function wireTexts({ bytes }: WireMessage): readonly string[] {
  return bytes.subarray(HEADER_BYTES).toString("latin1").split("\0");
}
