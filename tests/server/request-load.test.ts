import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ServedEngine, serveEngine } from "./server-fixture.ts";

let served: ServedEngine;
beforeEach(async () => {
  served = await serveEngine({ loadLimits: { principalRequests: 3, heldBodyBytes: 1000 } });
});
afterEach(() => served.close());

const get = (path: string, token: string, signal: AbortSignal | null = null) =>
  fetch(`${served.server.url}${path}`, { headers: { authorization: `Bearer ${token}` }, signal });

describe("a principal with as many streams as it may have", () => {
  it("is refused, others are served, and it is served again when a stream has ended", async () => {
    const bot = served.key({ id: "bot", kind: "agent" });
    const stops = [1, 2, 3].map(() => new AbortController());
    for (const { signal } of stops) expect((await get("/v1/stream?lists=runs", bot, signal)).status).toBe(200);
    const refused = await get("/v1/whoami", bot);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toMatchObject({ code: "SERVER_BUSY", next: expect.any(String) });
    expect((await get("/v1/whoami", served.key({}))).status).toBe(200);
    // Another key of the same principal has no requests of its own.
    expect((await get("/v1/whoami", served.key({ id: "bot", kind: "agent" }))).status).toBe(429);
    stops[0]?.abort();
    await expect.poll(async () => (await get("/v1/whoami", bot)).status).toBe(200);
    for (const { abort } of stops.map((stop) => ({ abort: () => stop.abort() }))) abort();
  });
});

/** Sends the head of a submission and the beginning of its body, which never ends. */
function unfinished(token: string, bytes: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(served.server.port, "127.0.0.1");
    const head = `POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1:${served.server.port}\r\nAuthorization: Bearer ${token}\r\n`;
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n${" ".repeat(bytes)}`, () =>
      resolve(socket),
    );
    socket.on("error", () => {}); // The server closes the connection when it stops.
  });
}

async function callText(): Promise<number> {
  const answer = await fetch(`${served.server.url}/v1/calls`, {
    method: "POST",
    headers: { authorization: `Bearer ${served.key({})}`, "content-type": "application/json" },
    body: JSON.stringify({ tool: "text.echo", input: { to: "x".repeat(500) } }),
  });
  return answer.status;
}

describe("bodies that take all the memory for bodies", () => {
  it("are given back when the connection ends, also those that wait behind another request of it", async () => {
    const bot = served.key({ id: "bot", kind: "agent" });
    const socket = connect(served.server.port, "127.0.0.1");
    socket.on("error", () => {});
    const head = (line: string) =>
      `${line} HTTP/1.1\r\nHost: 127.0.0.1:${served.server.port}\r\nAuthorization: Bearer ${bot}\r\n`;
    const body = JSON.stringify({ plan: { steps: [] }, filler: "x".repeat(800) });
    socket.write(`${head("GET /v1/stream?lists=runs")}\r\n`);
    const post = `${head("POST /v1/runs")}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(post + body);
    await expect.poll(callText).toBe(429);
    socket.destroy();
    await expect.poll(callText).toBe(200);
    for (let count = 0; count < 3; count += 1) expect((await get("/v1/whoami", bot)).status).toBe(200);
  });

  it("are refused, and other requests are answered when they have ended", async () => {
    const socket = await unfinished(served.key({ id: "slow" }), 900);
    await expect.poll(callText).toBe(429);
    expect((await get("/v1/whoami", served.key({}))).status).toBe(200);
    socket.destroy();
    await expect.poll(callText).toBe(200);
    expect(served.bugs).toEqual([]);
  });
});
