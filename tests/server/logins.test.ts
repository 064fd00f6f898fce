import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scopes } from "../../src/http-api/api-route.ts";
import { apiKeys, keysFileReader } from "../../src/server/api-keys.ts";
import { httpLimits } from "../../src/server/http-limits.ts";
import { oidc } from "../../src/server/oidc.ts";
import { type ServedEngine, serveEngine } from "./server-fixture.ts";

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

let issuer: Server;
let address: string;
let keys: readonly (readonly [string, Pair])[];
let served: ServedEngine;

beforeAll(async () => {
  keys = [["first", await generateKeyPair("ES256")]];
  issuer = createServer(async (request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.url === "/.well-known/openid-configuration")
      return void response.end(JSON.stringify({ issuer: address, jwks_uri: `${address}/keys` }));
    const all = await Promise.all(
      keys.map(async ([kid, pair]) => ({ ...(await exportJWK(pair.publicKey)), kid, alg: "ES256" })),
    );
    response.end(JSON.stringify({ keys: all }));
  });
  await new Promise<void>((resolve) => issuer.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  const people = await oidc({ issuer: address, audience: "writ", roleScopes: { approver: ["decide"] } }, () =>
    Date.now(),
  );
  served = await serveEngine({ authenticators: [people] });
});
afterAll(async () => {
  await served.close();
  issuer.closeAllConnections();
  issuer.close();
});

interface TokenTerms {
  readonly claims?: object;
  readonly issuer?: string;
  readonly audience?: string;
  readonly expires?: string;
  readonly pair?: readonly [string, Pair];
}

function tokenOf({
  claims = {},
  issuer: by = address,
  audience = "writ",
  expires = "5m",
  pair = keys.at(-1),
}: TokenTerms = {}) {
  const [kid, { privateKey }] = pair as readonly [string, Pair];
  return new SignJWT({ tenant: "acme", roles: ["approver"], ...claims })
    .setProtectedHeader({ alg: "ES256", kid })
    .setSubject("bea")
    .setIssuer(by)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(expires)
    .sign(privateKey);
}

const whoami = async (token: string) => {
  served.time += 60_000;
  return fetch(`${served.server.url}/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
};

describe("a token of the issuer", () => {
  it("names a person, the tenant and the roles; the roles give the scopes", async () => {
    expect(await (await whoami(await tokenOf())).json()).toEqual({
      principal: { id: "bea", kind: "person", tenant: "acme", roles: ["approver"] },
      scopes: ["read", "decide"],
    });
  });

  it("gives the right to read if no role has a scope", async () => {
    const { scopes: given } = (await (await whoami(await tokenOf({ claims: { roles: ["guest"] } }))).json()) as {
      scopes: string[];
    };
    expect(given).toEqual(["read"]);
  });

  it.each([
    ["of another issuer", { issuer: "https://other.example" }],
    ["for another audience", { audience: "shop" }],
    ["that has expired", { expires: "-1m" }],
    ["without a tenant", { claims: { tenant: undefined } }],
    ["with a tenant that is no name", { claims: { tenant: "a\nb" } }],
  ] as const)("is refused %s", async (_, terms) => {
    expect((await whoami(await tokenOf(terms))).status).toBe(401);
  });

  it("is refused if it is unsigned, or signed by an unknown key", async () => {
    const [header, payload] = (await tokenOf()).split(".");
    const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
    expect((await whoami(`${none}.${payload}.`)).status).toBe(401);
    expect((await whoami(`${header}.${payload}.AAAA`)).status).toBe(401);
    expect((await whoami(await tokenOf({ pair: ["stranger", await generateKeyPair("ES256")] }))).status).toBe(401);
  });

  it.each([
    ["signed with the public key of the issuer as a shared secret", { alg: "HS256", kid: "first" }],
    ["signed by a key that it carries itself", { alg: "ES256", jwk: true }],
    [
      "signed by a key that it carries itself, under the name of one of the issuer",
      { alg: "ES256", kid: "first", jwk: true },
    ],
    ["that names its keys by an address", { alg: "ES256", kid: "stranger", jku: "http://127.0.0.1:1/keys" }],
    ["with a path as the name of its key", { alg: "ES256", kid: "../../dev/null" }],
    ["with an extension that must be understood", { alg: "ES256", kid: "first", crit: ["exp"] }],
  ] as const)("is refused %s", async (_, given) => {
    const header: Record<string, unknown> = { ...given };
    const [, payload] = (await tokenOf()).split(".");
    const publicKey = await exportJWK((keys[0] as readonly [string, Pair])[1].publicKey);
    const own = await generateKeyPair("ES256", { extractable: true });
    if (header.jwk === true) header.jwk = await exportJWK(own.publicKey);
    const head = Buffer.from(JSON.stringify(header)).toString("base64url");
    const signed = new TextEncoder().encode(`${head}.${payload}`);
    const signature =
      header.alg === "HS256"
        ? createHmac("sha256", JSON.stringify(publicKey)).update(signed).digest()
        : Buffer.from(
            await crypto.subtle.sign(
              { name: "ECDSA", hash: "SHA-256" },
              own.privateKey as Parameters<typeof crypto.subtle.sign>[1],
              signed,
            ),
          );
    expect((await whoami(`${head}.${payload}.${signature.toString("base64url")}`)).status).toBe(401);
  });

  it.each([
    ["an issuer that does not answer", () => {}],
    ["an issuer that sends no end", (response: ServerResponse) => void response.write("{")],
    ["a huge document", (response: ServerResponse) => void response.end(`{"keys":[${" ".repeat(5_000_000)}]}`)],
    ["a document that is no JSON", (response: ServerResponse) => void response.end("<html>")],
    ["a redirect", (response: ServerResponse) => void response.writeHead(302, { location: address }).end()],
  ])("gets a refusal and no other status from %s, and API keys are served meanwhile", async (_, reply) => {
    const broken = createServer((_request, response) => reply(response));
    await new Promise<void>((resolve) => broken.listen(0, "127.0.0.1", resolve));
    const at = `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
    const limits = { timeoutMs: 200, pauseMs: 1000, bytes: 1000 };
    const people = await oidc({ issuer: at, audience: "writ" }, () => Date.now(), limits);
    const other = await serveEngine({ authenticators: [people] });
    const token = await tokenOf({ issuer: at });
    const ask = (bearer: string) =>
      fetch(`${other.server.url}/v1/whoami`, { headers: { authorization: `Bearer ${bearer}` } });
    const refused = ask(token);
    expect((await ask(other.key({}))).status).toBe(200);
    const { status, code } = (await (await refused).json()) as { readonly status: number; readonly code: string };
    expect({ status, code }).toEqual({ status: 503, code: "DEPENDENCY_UNAVAILABLE" });
    expect(other.bugs).toEqual([]);
    broken.closeAllConnections();
    broken.close();
    await other.close();
  });

  it("is accepted after the issuer has rotated its keys, and refused with a key that was withdrawn", async () => {
    const old = keys[0] as readonly [string, Pair];
    keys = [["second", await generateKeyPair("ES256")]];
    await expect.poll(async () => (await whoami(await tokenOf())).status, { timeout: 20_000 }).toBe(200);
    expect((await whoami(await tokenOf({ pair: old }))).status).toBe(401);
  });
});

const ana = { id: "ana", kind: "person", tenant: "acme" } as const;

async function logIn(link: string): Promise<{ status: number; cookie: string; csrf: string }> {
  const response = await fetch(`${served.server.url}/v1/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ link }),
  });
  const { csrf = "" } = (await response.json()) as { csrf?: string };
  return { status: response.status, cookie: response.headers.get("set-cookie") ?? "", csrf };
}

describe("the link of the first start", () => {
  it("logs one browser in, once", async () => {
    const link = served.browsers.makeLink({ principal: ana, scopes });
    const { status, cookie } = await logIn(link);
    expect(status).toBe(200);
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    expect((await logIn(link)).status).toBe(401);
  });

  it("expires", async () => {
    const link = served.browsers.makeLink({ principal: ana, scopes });
    served.time += httpLimits.linkMs;
    expect((await logIn(link)).status).toBe(401);
  });
});

describe("a file of keys that is damaged while the server runs", () => {
  it("is named in the log of the server only", async () => {
    const folder = mkdtempSync(join(tmpdir(), "writ-keys-"));
    const path = join(folder, "keys.json");
    const other = await serveEngine({ authenticators: [apiKeys(keysFileReader(path), Date.now)] });
    writeFileSync(path, "{", { mode: 0o600 });
    const response = await fetch(`${other.server.url}/v1/whoami`, { headers: { authorization: "Bearer x" } });
    expect(response.status).toBe(401);
    const key = `writ_${"0".repeat(12)}_${"x".repeat(43)}`;
    const failed = await fetch(`${other.server.url}/v1/whoami`, { headers: { authorization: `Bearer ${key}` } });
    expect([failed.status, await failed.text()]).toEqual([500, expect.not.stringContaining(folder)]);
    expect(String(other.bugs)).toContain(path);
    await other.close();
    rmSync(folder, { recursive: true });
  });
});

describe("the cookie of a browser", () => {
  const send = (cookie: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${served.server.url}/v1/signals/go`, {
      method: "POST",
      headers: { "content-type": "application/json", cookie: cookie.split(";")[0] ?? "", ...headers },
      body: JSON.stringify({ payload: 1 }),
    });

  it("changes nothing without the CSRF header of its own session", async () => {
    const first = await logIn(served.browsers.makeLink({ principal: ana, scopes }));
    const second = await logIn(served.browsers.makeLink({ principal: ana, scopes }));
    expect((await send(first.cookie)).status).toBe(403);
    expect((await send(first.cookie, { "x-writ-csrf": second.csrf })).status).toBe(403);
    expect((await send(first.cookie, { "x-writ-csrf": first.csrf })).status).toBe(200);
  });

  it("is refused after it was logged out, and others are not", async () => {
    const first = await logIn(served.browsers.makeLink({ principal: ana, scopes }));
    const second = await logIn(served.browsers.makeLink({ principal: ana, scopes }));
    const cookie = first.cookie.split(";")[0] ?? "";
    const gone = await fetch(`${served.server.url}/v1/logout`, { method: "POST", headers: { cookie } });
    expect([gone.status, gone.headers.get("set-cookie")]).toEqual([204, expect.stringContaining("Max-Age=0")]);
    expect((await send(first.cookie, { "x-writ-csrf": first.csrf })).status).toBe(401);
    expect((await send(second.cookie, { "x-writ-csrf": second.csrf })).status).toBe(200);
  });

  it("is refused when it is changed or has expired", async () => {
    const { cookie, csrf } = await logIn(served.browsers.makeLink({ principal: ana, scopes }));
    const [body = "", signature] = cookie.slice("writ_session=".length).split(/[.;]/);
    const session = JSON.parse(Buffer.from(body, "base64url").toString());
    const forged = Buffer.from(JSON.stringify({ ...session, principal: { ...ana, tenant: "other" } })).toString(
      "base64url",
    );
    expect((await send(`writ_session=${forged}.${signature}`, { "x-writ-csrf": csrf })).status).toBe(401);
    served.time += httpLimits.browserSessionMs;
    expect((await send(cookie, { "x-writ-csrf": csrf })).status).toBe(401);
  });
});
