import { connect, createServer, type Socket } from "node:net";
import { type WireMessage, WireMessages, wireTexts } from "./wire-protocol.ts";

/** How the connection of the next append is cut during its commit. */
export type CommitCut =
  | "landed" // The server commits; the client does not receive the answer.
  | "not landed" // The server does not receive the commit.
  | "landing late"; // The client loses the connection; the server receives the commit when `release` is called.

export interface CuttingProxy {
  /** The URL of the same database through the proxy. */
  readonly url: string;
  /** Cuts the next append that commits, after a number of others. Resolves when it is cut. */
  cut(how: CommitCut, after?: number): Promise<void>;
  /** Passes the delayed commit to the server, or drops it. */
  release(commits: boolean): void;
  /** Refuses new connections and cuts the existing ones. */
  close(): void;
  /** Accepts connections again. */
  open(): void;
  /** Stops the proxy. */
  end(): void;
}

/** Starts a proxy between a store and its Postgres that recognizes commits. */
export async function startCuttingProxy(url: string): Promise<CuttingProxy> {
  const target = new URL(url);
  const state: State = { cut: null, late: null, isOpen: true, sockets: new Set() };
  const server = createServer((client) => {
    if (state.isOpen) relay(client, connect(Number(target.port || 5432), target.hostname), state);
    else client.destroy();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no local port is free");
  const proxied = new URL(url);
  proxied.hostname = "127.0.0.1";
  proxied.port = String(address.port);
  const close = (): void => {
    state.isOpen = false;
    for (const socket of state.sockets) socket.destroy();
  };
  return {
    url: proxied.href,
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
  cut: { readonly how: CommitCut; after: number; readonly done: () => void } | null;
  late: ((commits: boolean) => void) | null;
  isOpen: boolean;
  readonly sockets: Set<Socket>;
}

function relay(client: Socket, upstream: Socket, state: State): void {
  const requests = new WireMessages("client");
  const answers = new WireMessages("server");
  const statements = new Map<string, string>();
  let statement = "";
  /** True once the client receives nothing more. */
  let isCut = false;
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
  client.on("close", () => isCut || upstream.destroy());
  upstream.on("close", () => client.destroy());

  const onClientMessage = (message: WireMessage): void => {
    const [one = "", two = ""] = wireTexts(message);
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
    isCut = true;
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
    for (const message of requests.take(bytes)) onClientMessage(message);
  });
  upstream.on("data", (bytes) => {
    const isReady = answers.take(bytes).some(({ type }) => type === "Z");
    if (!isCut) client.write(bytes);
    if (!isReady || committed === null) return;
    end();
    committed();
  });
}
