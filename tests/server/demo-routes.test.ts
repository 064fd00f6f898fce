import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServedEngine, serveEngine } from "./server-fixture.ts";

const secret = "secret-of-the-demo";
const asked: string[] = [];
const supervisor = createServer((request, response) => {
  asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
  response.statusCode = request.url === "/unknown" ? 404 : request.url === "/late" ? 409 : 200;
  response.end(request.url === "/late" ? "the scenario runs already" : '{"mails":[]}');
});

let served: ServedEngine;
beforeAll(async () => {
  await new Promise<void>((resolve) => void supervisor.listen(0, "127.0.0.1", resolve));
  const { port } = supervisor.address() as AddressInfo;
  served = await serveEngine({ demo: { url: `http://127.0.0.1:${port}`, secret } });
});
afterAll(async () => {
  await served.close();
  supervisor.close();
});

const send = (path: string, token: string, method = "GET", to = served) =>
  fetch(`${to.server.url}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code;

describe("the routes of a demo", () => {
  it("pass the state and the actions of its supervisor on, with its secret", async () => {
    asked.length = 0;
    const token = served.key({});
    expect(await (await send("/v1/demo", token)).json()).toEqual({ mails: [] });
    expect((await send("/v1/demo/kill", token, "POST")).status).toBe(200);
    expect(asked).toEqual([`GET / Bearer ${secret}`, `POST /kill Bearer ${secret}`]);
  });

  it("refuse agents and unknown actions, and say why the supervisor refuses", async () => {
    asked.length = 0;
    expect(await codeOf(await send("/v1/demo/kill", served.key({ kind: "agent" }), "POST"))).toBe("AUTH_FORBIDDEN");
    expect((await send("/v1/demo", "none")).status).toBe(401);
    expect((await send("/v1/demo/..%2fkill", served.key({}), "POST")).status).toBe(400);
    expect(asked).toEqual([]);
    expect((await send("/v1/demo/unknown", served.key({}), "POST")).status).toBe(404);
    expect(await (await send("/v1/demo/late", served.key({}), "POST")).json()).toMatchObject({
      detail: "the scenario runs already",
    });
  });

  it("need the CSRF token of a browser", async () => {
    const link = served.browsers.makeLink({
      principal: { id: "ana", kind: "person", tenant: "acme" },
      scopes: ["read", "decide"],
    });
    const { cookie, csrf } = served.browsers.useLink(link) ?? { cookie: "", csrf: "" };
    const post = (headers: Record<string, string>) =>
      fetch(`${served.server.url}/v1/demo/kill`, {
        method: "POST",
        headers: { cookie: `writ_session=${cookie}`, ...headers },
      });
    expect((await post({})).status).toBe(403);
    expect((await post({ "x-writ-csrf": csrf })).status).toBe(200);
  });

  it("do not exist on a server that no demo started", async () => {
    const plain = await serveEngine();
    expect(await codeOf(await send("/v1/demo", plain.key({}), "GET", plain))).toBe("ROUTE_NOT_FOUND");
    expect(await codeOf(await send("/v1/demo/kill", plain.key({}), "POST", plain))).toBe("ROUTE_NOT_FOUND");
    await plain.close();
  });
});
