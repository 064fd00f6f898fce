import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ConsoleFiles } from "../../src/server/console-files.ts";
import { httpLimits } from "../../src/server/http-limits.ts";
import { type ServedEngine, serveEngine } from "./server-fixture.ts";

let served: ServedEngine;
let token: string;
beforeAll(async () => {
  served = await serveEngine();
  token = served.key({});
});
afterAll(() => served.close());

/** Nothing was executed, nothing failed inside, and others are still served. */
afterEach(async () => {
  expect(served.sent).toEqual([]);
  expect(served.bugs).toEqual([]);
  expect(await served.client().runs()).toHaveLength(0);
});

interface Raw {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Sends a request that `fetch` would refuse to send. */
function sendRaw({
  method = "POST",
  path = "/v1/runs",
  headers = {},
  body,
}: Raw): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: "127.0.0.1",
        port: served.server.port,
        method,
        path,
        agent: false,
        headers: { authorization: `Bearer ${token}`, ...headers },
      },
      (response) => {
        let text = "";
        response.on("data", (part) => {
          text += part;
        });
        response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    sent.once("error", reject).end(body);
  });
}

/** Sends a text on a new connection, and resolves with the answer when the server has closed it. */
function answerTo(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(served.server.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (part) => {
      answer += String(part);
    });
    socket.once("close", () => resolve(answer)).once("error", reject);
    socket.write(text);
  });
}

const json = { "content-type": "application/json" };
const plan = `{"plan":{"steps":[]}}`;

const requests: Readonly<Record<string, readonly [Raw, number]>> = {
  "a body that is too large": [{ headers: json, body: `"${"x".repeat(httpLimits.bodyBytes)}"` }, 413],
  "a body that says it is too large": [{ headers: { ...json, "content-length": "999999999999" }, body: "" }, 413],
  "a body that is too deep": [{ headers: json, body: `{"plan":${"[".repeat(100)}${"]".repeat(100)}}` }, 413],
  "a repeated key": [{ headers: json, body: `{"plan":{"steps":[]},"plan":{"steps":[]}}` }, 400],
  "a number that no double holds": [{ headers: json, body: `{"plan":{},"priority":9007199254740993}` }, 400],
  "an infinite number": [{ headers: json, body: `{"plan":{},"priority":1e999}` }, 400],
  "half a character": [{ headers: json, body: `{"plan":"\\ud800"}` }, 400],
  "bytes that are not UTF-8": [{ headers: json, body: new Uint8Array([0x7b, 0xff, 0x7d]) }, 400],
  "a body that is not JSON": [{ headers: json, body: "{" }, 400],
  "a wrong type": [{ headers: json, body: `{"plan":{"steps":[]},"priority":"high"}` }, 400],
  "an unknown field": [{ headers: json, body: `{"plan":{"steps":[]},"tenant":"other"}` }, 400],
  "a principal in the body": [{ headers: json, body: `{"plan":{"steps":[]},"principal":{"id":"eve"}}` }, 400],
  "a missing field": [{ headers: json, body: "{}" }, 400],
  "a form": [{ headers: { "content-type": "text/plain" }, body: plan }, 415],
  "a compressed body": [{ headers: { ...json, "content-encoding": "gzip" }, body: plan }, 415],
  "a foreign host": [{ headers: { ...json, host: "evil.example" }, body: plan }, 421],
  "a host with another port": [{ headers: { ...json, host: "127.0.0.1:1" }, body: plan }, 421],
  "a short form of the address": [{ headers: { ...json, host: "127.1" }, body: plan }, 421],
  "a foreign origin": [{ headers: { ...json, origin: "https://evil.example" }, body: plan }, 403],
  "the origin null": [{ headers: { ...json, origin: "null" }, body: plan }, 403],
  "a foreign origin on a stream": [
    { method: "GET", path: "/v1/stream", headers: { origin: "https://evil.example" } },
    403,
  ],
  "a token in the query": [{ method: "GET", path: "/v1/runs?access_token=x" }, 400],
  "an unknown query": [{ method: "GET", path: "/v1/runs?tenant=other" }, 400],
  "a repeated query": [{ method: "GET", path: "/v1/runs?limit=1&limit=2" }, 400],
  "a query of a wrong type": [{ method: "GET", path: "/v1/runs?limit=many" }, 400],
  "a path with two slashes": [{ method: "GET", path: "/v1//runs" }, 400],
  "a path that climbs": [{ method: "GET", path: "/v1/gates/%2e%2e/runs" }, 400],
  "a path with a dot segment": [{ method: "GET", path: "/v1/x/../whoami" }, 400],
  "a path that ends in a dot segment": [{ method: "GET", path: "/v1/runs/.." }, 400],
  "a path with a fragment": [{ method: "GET", path: "/v1/whoami#x" }, 400],
  "a path with a backslash": [{ method: "GET", path: "/v1\\whoami" }, 400],
  "an address that is no path": [{ method: "OPTIONS", path: "*" }, 400],
  "a host with a user": [{ method: "GET", path: "/healthz", headers: { host: "127.0.0.1:80@evil.example" } }, 421],
  "a host that is no name": [{ method: "GET", path: "/healthz", headers: { host: "[::ffff:127.0.0.1]:4111" } }, 421],
  "a host with a dot at its end": [{ method: "GET", path: "/metrics", headers: { host: "localhost.:4111" } }, 421],
  "a forwarded host": [
    { headers: { ...json, host: "evil.example", "x-forwarded-host": "127.0.0.1" }, body: plan },
    421,
  ],
  "an expectation": [{ headers: { ...json, expect: "more" }, body: plan }, 417],
  "a path with a NUL": [{ method: "GET", path: "/v1/runs/%00" }, 400],
  "an unknown route": [{ method: "GET", path: "/v1/secrets" }, 404],
  "another method": [{ method: "PATCH", path: "/v1/runs" }, 404],
  "an overridden method": [{ method: "GET", path: "/v1/check", headers: { "x-http-method-override": "POST" } }, 404],
  "a long address": [{ method: "GET", path: `/v1/runs?status=${"x".repeat(httpLimits.urlBytes)}` }, 414],
  "a long header": [{ method: "GET", headers: { "x-long": "x".repeat(httpLimits.headerBytes) } }, 431],
};

describe("a server refuses", () => {
  it.each(Object.keys(requests))("%s", async (name) => {
    const [raw, expected] = requests[name] ?? [{}, 0];
    const { status, text } = await sendRaw(raw);
    expect(status).toBe(expected);
    expect(text).not.toMatch(/ at .*\.[jt]s|node_modules|\/src\/|SELECT|stack/);
    expect(JSON.parse(text)).toMatchObject({ status: expected, code: expect.any(String), next: expect.any(String) });
  });

  it.each([
    ["two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n"],
    ["a length and chunks", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"],
    ["a folded header", "X-A: b\r\n c\r\n"],
    ["a NUL in a header", "X-A: \0\r\n"],
  ])("%s", async (_, header) => {
    const { port } = served.server;
    const answer = await answerTo(
      `POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n${header}\r\n{}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(answer.split("\r\n\r\n").at(-1) ?? "")).toMatchObject({ status: 400, code: "INVALID_INPUT" });
  });

  it.each([
    ["that is too large", "application/json", `{"link":"${"x".repeat(httpLimits.loginBodyBytes)}"}`, 413],
    ["with a repeated key", "application/json", '{"link":"a","link":"b"}', 400],
    ["that is no JSON", "application/json", "{", 400],
    ["that is a form", "application/x-www-form-urlencoded", "link=a", 415],
    ["without a link", "application/json", "[]", 401],
  ])("a login with a body %s", async (_, type, body, expected) => {
    const { status, text } = await sendRaw({ path: "/v1/login", headers: { "content-type": type }, body });
    expect([status, JSON.parse(text).status]).toEqual([expected, expected]);
  });

  it.each([
    ["two hosts", "GET /v1/runs HTTP/1.1\r\nHost: evil.example", /^HTTP\/1\.1 421/],
    ["two origins", "GET /v1/runs HTTP/1.1\r\nOrigin: null\r\nOrigin: null", /^HTTP\/1\.1 403/],
    ["the address of another server", "GET http://evil.example/v1/runs HTTP/1.1", /^HTTP\/1\.1 4\d\d/],
    ["an address that is none", "GET //evil.example/v1/runs HTTP/1.1", /^HTTP\/1\.1 400/],
    ["the method TRACE", "TRACE /v1/runs HTTP/1.1", /^HTTP\/1\.1 404/],
    ["all addresses", "OPTIONS * HTTP/1.1", /^HTTP\/1\.1 4\d\d/],
    ["a tunnel", "CONNECT evil.example:443 HTTP/1.1", /^$/],
    ["a path that climbs", "GET /v1/runs/../../etc/passwd HTTP/1.1", /^HTTP\/1\.1 40[04]/],
  ])("a request of %s", async (_, line, expected) => {
    const answer = await answerTo(`${line}\r\nHost: 127.0.0.1:${served.server.port}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(expected);
  });

  it("a request without a host", async () => {
    expect(await answerTo("GET /v1/runs HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 4\d\d/);
    expect(await answerTo("GET /v1/runs HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1\.1 400/);
  });

  it("an upgrade to another protocol, and answers in this one", async () => {
    const answer = await answerTo(
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${served.server.port}\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200/);
  });

  it("a client that guesses keys, and serves it again after a minute", async () => {
    const other = await serveEngine();
    const guess = (key: string) =>
      fetch(`${other.server.url}/v1/runs`, { headers: { authorization: `Bearer ${key}` } });
    const statuses = new Set<number>();
    for (let count = 0; count < httpLimits.failedLogins + 5; count += 1) statuses.add((await guess("wrong")).status);
    expect([...statuses]).toEqual([401, 429]);
    // Behind a proxy all clients have one address.
    expect((await guess(other.key({}))).status).toBe(200);
    other.time += httpLimits.failedLoginsMs;
    expect((await guess(other.key({}))).status).toBe(200);
    await other.close();
  });

  it("to listen on other addresses than loopback without a public URL with TLS", async () => {
    const { serveApi } = await import("../../src/server/serve-api.ts");
    const options = {
      engine: served.engine,
      authenticators: [],
      browsers: null,
      console: new ConsoleFiles(),
      isReady: async () => true,
      metrics: () => "",
      now: () => 0,
      onBug: () => {},
    };
    await expect(serveApi({ ...options, host: "0.0.0.0", port: 0 })).rejects.toThrow("--public-url");
    await expect(
      serveApi({ ...options, host: "0.0.0.0", port: 0, publicUrl: "http://writ.example.org" }),
    ).rejects.toThrow("--public-url");
  });
});

describe("every answer", () => {
  it("has the headers that keep pages safe, also of a refusal", async () => {
    const response = await fetch(`${served.server.url}/v1/runs`);
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});
