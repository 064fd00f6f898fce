import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServedEngine, serveEngine } from "./server-fixture.ts";

let served: ServedEngine;
let token: string;
beforeAll(async () => {
  served = await serveEngine();
  token = served.key({});
});
afterAll(() => served.close());

const send = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: object) =>
  fetch(`${served.server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const policy = (name: string) => ({ document: { schema_version: "1.0", name, scope: { tenant: "acme" }, rules: [] } });

describe("the ETag of a policy", () => {
  it("guards its replacement: of two people with the same version, one is refused with 412", async () => {
    await send("PUT", "/v1/policies", {}, policy("calm"));
    const etag = (await send("GET", "/v1/policies/calm", {})).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"\d+"$/);
    const replace = () => send("PUT", "/v1/policies", { "if-match": etag }, policy("calm"));
    const answers = await Promise.all([replace(), replace()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 412]);
    const refused = answers.find(({ status }) => status === 412);
    expect(await refused?.json()).toMatchObject({ status: 412, code: "NOT_POSSIBLE", errors: { version: 2 } });
    expect((await send("GET", "/v1/policies/calm", { "if-none-match": etag })).status).toBe(200);
  });

  it("answers a reader that has the version with 304", async () => {
    await send("PUT", "/v1/policies", {}, policy("still"));
    const etag = (await send("GET", "/v1/policies/still", {})).headers.get("etag") ?? "";
    for (const known of [etag, `W/${etag}`, `"0", ${etag}`, "*"]) {
      const { status, headers } = await send("GET", "/v1/policies/still", { "if-none-match": known });
      expect([status, headers.get("etag")]).toEqual([304, etag]);
    }
  });
});

describe("the state of a project", () => {
  it("has its version as its ETag", async () => {
    const { headers } = await send("GET", "/v1/state?project=site", {});
    expect(headers.get("etag")).toBe('"0"');
    expect((await send("GET", "/v1/state?project=site", { "if-none-match": '"0"' })).status).toBe(304);
  });
});

describe("the header If-Match is refused", () => {
  it.each([
    ["on a route that compares no versions", "DELETE", "/v1/policies/calm", '"1"', undefined],
    ["if it is no ETag of one version", "PUT", "/v1/policies", "*", policy("calm")],
    ["beside the argument with the version", "PUT", "/v1/policies", '"1"', { ...policy("calm"), if_version: 1 }],
  ] as const)("%s", async (_, method, path, header, body) => {
    const answer = await send(method, path, { "if-match": header }, body);
    expect(await answer.json()).toMatchObject({ status: 400, code: "INVALID_INPUT" });
  });
});
