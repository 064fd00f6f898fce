import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jsonResponse, sendText } from "../../src/server/text-response.ts";
import { planOf, type ServedEngine, serveEngine } from "./server-fixture.ts";

const times = { headersMs: 1000, requestMs: 2000 };

let served: ServedEngine;
beforeEach(async () => {
  served = await serveEngine({ times });
});
afterEach(async () => {
  expect(served.sent).toEqual([]);
  expect(served.bugs).toEqual([]);
  await served.close();
});

/** Sends a text on a new connection, and resolves when the server closes it, with the answer. */
function answerTo(text: string, drip?: (socket: Socket) => void): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(served.server.port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    const dripping = drip && setInterval(() => drip(socket), 50);
    socket.on("data", (part) => {
      answer += part;
    });
    socket.on("error", () => {}); // The server has closed the connection.
    socket.once("close", () => {
      clearInterval(dripping);
      resolve(answer);
    });
  });
}

const problemIn = (answer: string) => JSON.parse(answer.split("\r\n\r\n").at(-1) ?? "");
const head = (more = "") =>
  `POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1:${served.server.port}\r\nAuthorization: Bearer ${served.key({})}\r\n${more}`;

describe("a server closes the connection of a client", () => {
  it.each([
    ["that sends no request", () => "", undefined],
    ["that sends its headers one by one", () => head(), (socket: Socket) => socket.write("X-Slow: yes\r\n")],
  ])("%s, and serves others meanwhile", async (_, text, drip) => {
    const closed = answerTo(text(), drip);
    expect((await served.client().call("text.echo", { to: "x" })).result.status).toBe("completed");
    const answer = await closed;
    expect(answer).toMatch(/^HTTP\/1\.1 (408 Request Timeout|400 Bad Request)\r\n/);
    expect(problemIn(answer)).toMatchObject({ status: expect.any(Number), next: expect.any(String) });
  });

  it("that sends its body a byte at a time", async () => {
    const text = head("Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{");
    const answer = await answerTo(text, (socket) => socket.write(" "));
    expect(answer).toMatch(/^HTTP\/1\.1 408/);
    expect(problemIn(answer)).toMatchObject({ status: 408, next: expect.any(String) });
  });

  it("that says more than it sends, and executes nothing", async () => {
    const { port } = served.server;
    const socket = connect(port, "127.0.0.1");
    const body = JSON.stringify({ plan: planOf("x") });
    socket.write(`${head("Content-Type: application/json\r\n")}Content-Length: ${body.length + 1}\r\n\r\n${body}`);
    socket.end();
    await new Promise((resolve) => socket.resume().once("close", resolve));
    expect(await served.client().runs()).toHaveLength(0);
  });

  it("that does not read a large answer", async () => {
    const server = createServer((_, outgoing) => void sendText(jsonResponse("x".repeat(50_000_000)), outgoing, 100));
    const closed = new Promise<void>((resolve) => server.once("connection", (socket) => socket.once("close", resolve)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {}); // The server has closed the connection.
    socket.pause().write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await closed;
    socket.destroy();
    server.close();
  });
});
