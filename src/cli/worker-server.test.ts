import { once } from "node:events";
import type { Server } from "node:http";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { FaultError } from "../core/fault.ts";
import { Meters } from "./metered-store.ts";
import { portOf, serveHealth } from "./worker-server.ts";

async function served(port = 0): Promise<Server> {
  const server = await serveHealth({ meters: new Meters(), isReady: async () => true }, port, "127.0.0.1");
  onTestFinished(() => void server.close());
  return server;
}

/** What is answered to a line, as it is: no client in between makes it proper. */
async function asked(server: Server, request: string): Promise<string> {
  const socket = connect(portOf(server), "127.0.0.1");
  socket.end(`${request}\r\nhost: x\r\nconnection: close\r\n\r\n`);
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  await once(socket, "close");
  return text.split("\r\n")[0] ?? "";
}

describe("the health of a worker", () => {
  it("is told to whoever asks, and nothing that is asked ends the worker", async () => {
    const server = await served();
    for (const path of ["//", "///", "http://[", "/../..", "*", "/%"])
      expect(await asked(server, `GET ${path} HTTP/1.1`), path).toBe("HTTP/1.1 404 Not Found");
    expect(await asked(server, "POST /healthz HTTP/1.1")).toBe("HTTP/1.1 405 Method Not Allowed");
    expect(await asked(server, "GET /healthz?x=1 HTTP/1.1")).toBe("HTTP/1.1 200 OK");
  });

  it("is told on a port that is free, or the reason why not", async () => {
    const server = await served();
    await expect(served(portOf(server))).rejects.toThrow(FaultError);
  });
});
