import { connect, createServer, type Socket } from "node:net";
import { type Message, Messages, textsIn } from "./wire.ts";

/** What becomes of the next append: its connection is cut as it commits, and the server has heard of the commit, or has not. */
export type Cut =
  | "landed" // The server commits; the answer is never heard.
  | "not landed" // The server is left with the work done and no word to commit.
  | "landing late"; // The client hears that the connection is cut; the server goes on when `release` is called.

export interface Passage {
  /** The same database, through here. */
  readonly url: string;
  /** Cuts the next append that commits, or lets so many pass before. Resolves when it was cut. */
  cut(how: Cut, after?: number): Promise<void>;
  /** Lets the commit that is landing late come to the server, or leaves it without. */
  release(commits: boolean): void;
  /** Nobody is let through any more, and who was is cut off. */
  close(): void;
  /** Everyone is let through again. */
  open(): void;
  /** It is gone for good. */
  end(): void;
}

/** Stands between a store and its Postgres, and knows the moment of a commit. */
export async function openPassage(url: string): Promise<Passage> {
  const target = new URL(url);
  const state: State = { cut: null, late: null, isOpen: true, sockets: new Set() };
  const server = createServer((client) => {
    if (state.isOpen) relay(client, connect(Number(target.port || 5432), target.hostname), state);
    else client.destroy();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the loopback has no port left");
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String(address.port);
  const close = (): void => {
    state.isOpen = false;
    for (const socket of state.sockets) socket.destroy();
  };
  return {
    url: through.href,
    cut: (how, after = 0) =>
      new Promise((done) => {
        state.cut = { how, after, done };
      }),
    release: (commits) => state.late?.(commits),
    close,
    open: () => {
      state.isOpen = true;
    },
    end: () => {
      close();
      server.close();
    },
  };
}

interface State {
  cut: { readonly how: Cut; after: number; readonly done: () => void } | null;
  late: ((commits: boolean) => void) | null;
  isOpen: boolean;
  readonly sockets: Set<Socket>;
}

function relay(client: Socket, upstream: Socket, state: State): void {
  const asked = new Messages("client");
  const answers = new Messages("server");
  const statements = new Map<string, string>();
  let statement = "";
  /** The client hears no more. */
  let isDeaf = false;
  let committed: (() => void) | null = null;
  for (const socket of [client, upstream]) {
    state.sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => state.sockets.delete(socket));
  }
  const end = (): void => {
    client.destroy();
    upstream.destroy();
  };
  client.on("close", () => isDeaf || upstream.destroy());
  upstream.on("close", () => client.destroy());

  const heard = (message: Message): void => {
    const [one = "", two = ""] = textsIn(message);
    if (message.type === "P") statements.set(one, two);
    if (message.type === "B") statement = statements.get(two) ?? "";
    const { cut } = state;
    const isAppend = message.type === "S" && /writ\.append/.test(statement);
    if (cut === null || !isAppend || cut.after > 0) {
      if (cut !== null && isAppend) cut.after -= 1;
      upstream.write(message.bytes);
      return;
    }
    state.cut = null;
    isDeaf = true;
    if (cut.how === "not landed") end();
    if (cut.how === "landed") upstream.write(message.bytes);
    if (cut.how === "landing late") {
      client.destroy();
      state.late = (commits) => (commits ? upstream.write(message.bytes) : upstream.destroy());
    }
    if (cut.how === "landed") committed = cut.done;
    else cut.done();
  };
  client.on("data", (bytes) => {
    for (const message of asked.take(bytes)) heard(message);
  });
  upstream.on("data", (bytes) => {
    const isReady = answers.take(bytes).some(({ type }) => type === "Z");
    if (!isDeaf) client.write(bytes);
    if (!isReady || committed === null) return;
    end();
    committed();
  });
}
