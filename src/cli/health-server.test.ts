import { once } from "node:events";
import type { Server } from "node:http";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { FaultError } from "../core/values/fault.ts";
import { listeningPort, serveHealth } from "./health-server.ts";
import { StoreOperationCounters } from "./store-operation-counters.ts";

async function served(port = 0): Promise<Server> {
  const server = await serveHealth(
    { meters: new StoreOperationCounters(), isReady: async () => true },
    port,
    "127.0.0.1",
  );
  onTestFinished(() => void server.close());
  return server;
}

/** Sends a raw request, which an HTTP client would correct or refuse, and returns the status line. */
async function asked(server: Server, request: string): Promise<string> {
  const socket = connect(listeningPort(server), "127.0.0.1");
  socket.end(`${request}\r\nhost: x\r\nconnection: close\r\n\r\n`);
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  await once(socket, "close");
  return text.split("\r\n")[0] ?? "";
}

describe("health server", () => {
  it("answers every request and survives malformed ones", async () => {
    const server = await served();
    for (const path of ["//", "///", "http://[", "/../..", "*", "/%"])
      expect(await asked(server, `GET ${path} HTTP/1.1`), path).toBe("HTTP/1.1 404 Not Found");
    expect(await asked(server, "POST /healthz HTTP/1.1")).toBe("HTTP/1.1 405 Method Not Allowed");
    expect(await asked(server, "GET /healthz?x=1 HTTP/1.1")).toBe("HTTP/1.1 200 OK");
  });

  it("listens on a free port or reports why it cannot", async () => {
    const server = await served();
    await expect(served(listeningPort(server))).rejects.toThrow(FaultError);
  });
});
