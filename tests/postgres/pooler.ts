import { createServer, type Socket } from "node:net";
import { afterAll, beforeAll } from "vitest";
import { driver } from "../../src/store/postgres/driver.ts";
import { type Message, Messages } from "./wire.ts";

/** As much of a transaction pooler as a store can notice: each transaction of a client is given the next of a few servers. */
export interface Pooler {
  readonly url: string;
}

export function poolerTo(url: () => string, servers: number): Pooler {
  const pool: Upstream[] = [];
  let port = 0;
  const listener = createServer((client) => serve(client, pool));
  beforeAll(async () => {
    for (let nth = 0; nth < servers; nth += 1) pool.push(await upstreamOf(url()));
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
      const through = new URL(url());
      through.hostname = "127.0.0.1";
      through.port = String(port);
      return through.href;
    },
  };
}

/** A connection that is logged in, and whoever waits for it. */
interface Upstream {
  readonly socket: Socket;
  readonly queue: (() => void)[];
  isTaken: boolean;
}

async function upstreamOf(url: string): Promise<Upstream> {
  const settings = {
    connectionString: url,
    application_name: "pooler",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  };
  const client = new (driver().Client)(settings);
  client.on("error", () => {});
  await client.connect();
  // Logged in by the driver; from here on its bytes are ours.
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
  stream.removeAllListeners();
  stream.on("error", () => {});
  return { socket: stream, queue: [], isTaken: false };
}

let turn = 0;

function serve(client: Socket, pool: readonly Upstream[]): void {
  const messages = new Messages("client");
  let asked: Buffer[] = [];
  let held: { readonly upstream: Upstream; readonly done: () => void } | null = null;
  client.on("error", () => {});
  client.on("data", (bytes) => {
    for (const message of messages.take(bytes)) {
      if (message.type === "") client.write(isLoggedIn(message) ? welcome : "N");
      if (message.type === "" || message.type === "X") continue;
      asked.push(message.bytes);
      // The end of a question: Sync, or a Query.
      if (message.type !== "S" && message.type !== "Q") continue;
      const question = Buffer.concat(asked);
      asked = [];
      if (held !== null) relay(question, held.upstream, held.done);
      else take(pool, (upstream, done) => relay(question, upstream, done));
    }
  });
  const relay = (question: Buffer, upstream: Upstream, done: () => void): void => {
    const answers = new Messages("server");
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

/** Each transaction is on another server than the one before. */
function take(pool: readonly Upstream[], work: (upstream: Upstream, done: () => void) => void): void {
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

/** Asked for encryption first, a client is told no. */
function isLoggedIn({ bytes }: Message): boolean {
  return bytes.readInt32BE(4) === 196_608;
}

const welcome = Buffer.concat([
  Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]), // You are who you say.
  Buffer.from([0x4b, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0]), // And have no process of your own.
  Buffer.from([0x5a, 0, 0, 0, 5, 0x49]), // Ask.
]);
