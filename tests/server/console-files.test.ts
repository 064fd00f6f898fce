import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { consolePaths } from "../../src/http-api/page-paths.ts";
import { ConsoleFiles } from "../../src/server/console-files.ts";
import { type ServedEngine, serveEngine } from "./server-fixture.ts";

const page = '<html><head><meta name="writ-build" content="build-1" /></head></html>';
const script = "export const answer = 42;\n".repeat(100);
let folder: string;
let served: ServedEngine;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "writ-console-"));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), page);
  writeFileSync(join(folder, "licences.md"), "MIT");
  writeFileSync(join(folder, "secret.txt"), "not for the web");
  writeFileSync(join(folder, "assets", "main-1a2b.js"), script);
  writeFileSync(join(folder, "assets", "main-1a2b.js.br"), brotliCompressSync(script));
  writeFileSync(join(folder, "assets", "main-1a2b.js.gz"), gzipSync(script));
  served = await serveEngine({ console: new ConsoleFiles(folder) });
});
afterAll(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

/** Returns the answer as it was sent: `fetch` would decompress it. */
function get(path: string, headers: Readonly<Record<string, string>> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    const sent = request(`${served.server.url}${path}`, { headers }, async (response) => {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part as Buffer);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) });
    });
    sent.on("error", reject).end();
  });
}

describe("the console", () => {
  it.each(consolePaths)("has its page at %s, which is never kept and allows no script inside", async (path) => {
    const { status, headers, body } = await get(path.replaceAll(":id", "x_1"));
    expect([status, body.toString()]).toEqual([200, page]);
    expect(headers["cache-control"]).toBe("no-store");
    expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(headers["content-security-policy"]).not.toContain("unsafe");
    expect(headers["x-writ-build"]).toBe("build-1");
  });

  it("shows its page at an unknown address to a browser, and a problem document to a program", async () => {
    expect(await get("/nowhere", { accept: "text/html,*/*" })).toMatchObject({ status: 404, body: Buffer.from(page) });
    expect(await get("/nowhere")).toMatchObject({
      status: 404,
      headers: { "content-type": "application/problem+json" },
    });
    const unknownRoute = await get("/v1/nowhere", { accept: "text/html" });
    expect(unknownRoute.headers["content-type"]).toBe("application/problem+json");
  });

  it("has assets that are kept for ever, in the best encoding that the browser takes", async () => {
    const brotli = await get("/assets/main-1a2b.js", { "accept-encoding": "gzip, br" });
    expect(brotli.headers).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": "text/javascript; charset=utf-8",
      "content-encoding": "br",
      vary: "accept-encoding",
    });
    expect(brotliDecompressSync(brotli.body).toString()).toBe(script);
    const gzip = await get("/assets/main-1a2b.js", { "accept-encoding": "gzip" });
    expect(gunzipSync(gzip.body).toString()).toBe(script);
    const plain = await get("/assets/main-1a2b.js");
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.body.toString()).toBe(script);
    const kept = await get("/assets/main-1a2b.js", { "if-none-match": String(plain.headers.etag) });
    expect([kept.status, kept.body.length]).toEqual([304, 0]);
  });

  it("serves no other file", async () => {
    for (const path of ["/assets/other.js", "/assets/..%2fsecret.txt", "/assets/%2e%2e/secret.txt", "/secret.txt"])
      expect((await get(path)).status, path).toBeGreaterThanOrEqual(400);
  });

  it("has the licences of its libraries", async () => {
    expect((await get("/licences")).body.toString()).toBe("MIT");
  });

  it("says its build with every answer, so that a page notices that it is old", async () => {
    expect((await get("/v1/whoami")).headers["x-writ-build"]).toBe("build-1");
  });

  it("says how to build it if it was not built", async () => {
    const files = new ConsoleFiles(join(folder, "nothing"));
    const answer = files.page(new Request("http://localhost/"), 200);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("npm run build");
  });
});
