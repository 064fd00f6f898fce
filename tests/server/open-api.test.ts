import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { apiRoutes } from "../../src/http-api/api-routes.ts";
import { makeRouteTable } from "../../src/server/make-route-table.ts";
import { openApi } from "../../src/server/open-api.ts";
import { repositoryPath } from "../repo/repository-path.ts";

describe("the OpenAPI document", () => {
  const document = openApi(makeRouteTable());

  it("is valid OpenAPI 3.1", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it("has every route once, and resolves every reference", () => {
    const names = apiRoutes.map(({ verb }) => verb);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(apiRoutes.map(({ method, path }) => `${method} ${path}`)).size).toBe(names.length);
    const text = JSON.stringify(document);
    const { schemas } = document.components as { readonly schemas: object };
    const missing = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)]
      .map(([, name]) => name as string)
      .filter((name) => !(name in schemas));
    expect(missing).toEqual([]);
  });

  it("is the one in docs/openapi.json", async () => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot(repositoryPath("docs/openapi.json"));
  });
});
