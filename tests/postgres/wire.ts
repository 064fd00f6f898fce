/** One message of Postgres's protocol: its type and all of its bytes. */
export interface Message {
  readonly type: string;
  readonly bytes: Buffer;
}

const LENGTH_AT = 1;
const HEADER_BYTES = 5;

/** Cuts a stream of bytes into messages. The first message of a client has no type; its type here is empty. */
export class Messages {
  #rest = Buffer.alloc(0);
  #isStarting: boolean;

  constructor(from: "client" | "server") {
    this.#isStarting = from === "client";
  }

  take(bytes: Buffer): readonly Message[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const messages: Message[] = [];
    for (let message = this.#next(); message !== null; message = this.#next()) messages.push(message);
    return messages;
  }

  #next(): Message | null {
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

/** The texts in a Parse (name and statement) or a Bind (portal and name). */
export function textsIn({ bytes }: Message): readonly string[] {
  return bytes.subarray(HEADER_BYTES).toString("latin1").split("\0");
}
