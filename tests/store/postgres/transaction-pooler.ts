import { createServer, type Socket } from "node:net";
import { afterAll, beforeAll } from "vitest";
import { loadPgDriver } from "../../../src/store/postgres/pg-driver.ts";
import { type WireMessage, WireMessages } from "./wire-protocol.ts";

/** A minimal transaction pooler: each transaction of a client runs on the next of a few server connections. */
export interface TransactionPooler {
  readonly url: string;
}

export function startTransactionPooler(url: () => string, servers: number): TransactionPooler {
  const pool: Upstream[] = [];
  let port = 0;
  const listener = createServer((client) => serveClient(client, pool));
  beforeAll(async () => {
    for (let nth = 0; nth < servers; nth += 1) pool.push(await openUpstream(url()));
    await new Promise<void>((listening) => listener.listen(0, "127.0.0.1", listening));
    const address = listener.address();
    if (address !== null && typeof address === "object") port = address.port;
  });
  afterAll(() => {
    listener.close();
    for (const { socket } of pool) socket.destroy();
  });
  return {
    get url() {
      const pooled = new URL(url());
      pooled.hostname = "127.0.0.1";
      pooled.port = String(port);
      return pooled.href;
    },
  };
}

/** A server connection that is logged in, with a queue of waiting transactions. */
interface Upstream {
  readonly socket: Socket;
  readonly queue: (() => void)[];
  isTaken: boolean;
}

async function openUpstream(url: string): Promise<Upstream> {
  const settings = {
    connectionString: url,
    application_name: "pooler",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  };
  const client = new (loadPgDriver().Client)(settings);
  client.on("error", () => {});
  await client.connect();
  // The driver has logged in; this module now uses the socket directly.
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
  stream.removeAllListeners();
  stream.on("error", () => {});
  return { socket: stream, queue: [], isTaken: false };
}

let turn = 0;

function serveClient(client: Socket, pool: readonly Upstream[]): void {
  const messages = new WireMessages("client");
  let pending: Buffer[] = [];
  let held: { readonly upstream: Upstream; readonly done: () => void } | null = null;
  client.on("error", () => {});
  client.on("data", (bytes) => {
    for (const message of messages.take(bytes)) {
      if (message.type === "") client.write(isLoggedIn(message) ? loginReply : "N");
      if (message.type === "" || message.type === "X") continue;
      pending.push(message.bytes);
      // A Sync or a Query ends a request.
      if (message.type !== "S" && message.type !== "Q") continue;
      const question = Buffer.concat(pending);
      pending = [];
      if (held !== null) relay(question, held.upstream, held.done);
      else assignServer(pool, (upstream, done) => relay(question, upstream, done));
    }
  });
  const relay = (question: Buffer, upstream: Upstream, done: () => void): void => {
    const answers = new WireMessages("server");
    upstream.socket.removeAllListeners("data");
    upstream.socket.on("data", (bytes) => {
      client.write(bytes);
      const ready = answers.take(bytes).find(({ type }) => type === "Z");
      if (ready === undefined) return;
      const isIdle = ready.bytes.at(-1) === "I".charCodeAt(0);
      held = isIdle ? null : { upstream, done };
      if (isIdle) done();
    });
    upstream.socket.write(question);
  };
}

/** Runs each transaction on another server than the one before. */
function assignServer(pool: readonly Upstream[], work: (upstream: Upstream, done: () => void) => void): void {
  turn += 1;
  const upstream = pool[turn % pool.length] as Upstream;
  const begin = (): void => {
    upstream.isTaken = true;
    work(upstream, () => {
      upstream.isTaken = false;
      upstream.queue.shift()?.();
    });
  };
  if (upstream.isTaken) upstream.queue.push(begin);
  else begin();
}

/** False for a request for encryption, which is refused. */
function isLoggedIn({ bytes }: WireMessage): boolean {
  return bytes.readInt32BE(4) === 196_608;
}

const loginReply = Buffer.concat([
  Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]), // Authentication succeeded.
  Buffer.from([0x4b, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0]), // No backend process to cancel.
  Buffer.from([0x5a, 0, 0, 0, 5, 0x49]), // Ready for queries.
]);
