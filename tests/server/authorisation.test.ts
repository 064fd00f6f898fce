import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiScope, scopes } from "../../src/http-api/api-route.ts";
import { makeApiKey, readKeysFile, writeKeysFile } from "../../src/server/api-keys.ts";
import { makeRouteTable } from "../../src/server/make-route-table.ts";
import { type SampleObjects, sampleRequest, send } from "./route-samples.ts";
import { planOf, type ServedEngine, serveEngine } from "./server-fixture.ts";

const table = makeRouteTable();
const minute = 60_000;
const secret = "secret-of-acme";
const acme = { id: "ana", kind: "person", tenant: "acme" } as const;

let served: ServedEngine;
let objects: SampleObjects;

beforeAll(async () => {
  served = await serveEngine();
  const run = await served.engine.submit(planOf(secret), {
    principal: { ...acme, id: "bot", kind: "agent" },
    title: secret,
  });
  const { gates } = await run.result();
  const session_id = Buffer.from(JSON.stringify({ session: secret })).toString("base64url");
  objects = { run_id: run.run_id, gate_id: gates[0]?.gate_id as string, step_id: "send", session_id };
});
afterAll(() => served.close());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Every credential that must be refused, with the status that refuses it. */
const badCredentials: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
  none: () => ({}),
  wrong: () => bearer(`writ_${"0".repeat(12)}_${"x".repeat(43)}`),
  malformed: () => bearer("password"),
  basic: () => ({ authorization: `Basic ${Buffer.from("ana:acme").toString("base64")}` }),
  "with another secret": () => bearer(served.key({}).replace(/.{5}$/, "AAAAA")),
  expired: () => bearer(served.key({}, scopes, served.time)),
  revoked: () => {
    const key = served.key({});
    served.revoke(key);
    return bearer(key);
  },
  "in a cookie with a wrong signature": () => ({ cookie: "writ_session=e30.AAAA" }),
};

describe.each(table.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
  it.each(Object.keys(badCredentials))("refuses a credential that is %s", async (name) => {
    served.time += minute;
    const headers = badCredentials[name]?.() ?? {};
    const response = await send(served.server.url, route, sampleRequest(route, objects), headers);
    expect(response.status).toBe(401);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({ code: "AUTH_REQUIRED", status: 401 });
  });

  it("refuses a credential without its scope", async () => {
    const others = scopes.filter((scope): scope is ApiScope => scope !== route.scope);
    const response = await send(
      served.server.url,
      route,
      sampleRequest(route, objects),
      bearer(served.key({}, others)),
    );
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: "AUTH_FORBIDDEN", errors: { scope: route.scope } });
  });

  it("shows and changes nothing of another tenant", async () => {
    const stranger = bearer(served.key({ id: "eve", tenant: "other" }));
    const before = await recordOf();
    const response = await send(served.server.url, route, sampleRequest(route, objects), {
      ...stranger,
      "x-tenant": "acme",
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const answer = isStream ? "" : await response.text();
    await response.body?.cancel().catch(() => {});
    expect(answer).not.toContain(secret);
    expect(answer).not.toContain(`"run_id":"${objects.run_id}"`);
    if (/\{(run_id|gate_id)\}/.test(route.path)) expect(response.status).toBe(404);
    expect(response.status).toBeLessThan(500);
    expect(await recordOf()).toEqual(before);
    expect(served.bugs).toEqual([]);
  });
});

/** Everything on record about the run of acme. */
async function recordOf(): Promise<unknown> {
  const handle = await served.engine.run(objects.run_id, { principal: acme });
  const events = [];
  for await (const { event } of handle.events()) events.push(event.type);
  return { events, sent: [...served.sent], policies: await served.engine.policies.list({ principal: acme }) };
}

describe("a credential of an agent", () => {
  it.each(["decide", "admin"] as const)("cannot have the scope %s", (scope) => {
    const principal = { id: "bot", kind: "agent", tenant: "acme" } as const;
    const given = { principal, scopes: ["read", scope] as const, expires_at: null };
    expect(() => makeApiKey(given, 0)).toThrow(`no agent has the scope ${scope}`);
  });

  it("decides nothing, even if a file of keys was changed by hand", async () => {
    const principal = { id: "bot", kind: "agent", tenant: "acme" } as const;
    const key = { ...makeApiKey({ principal: acme, scopes: ["read", "decide"], expires_at: null }, 0).key, principal };
    const folder = mkdtempSync(join(tmpdir(), "writ-keys-"));
    const path = join(folder, "keys.json");
    writeKeysFile(path, { cookie_secret: "x".repeat(43), keys: [key] });
    expect(() => readKeysFile(path)).toThrow("no agent has the scope decide");
    rmSync(folder, { recursive: true });
  });
});
