import { Ajv2020 } from "ajv/dist/2020.js";
import { afterEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/values/json.ts";
import { engineSchemas } from "../../src/server/engine-schemas.ts";
import { makeRouteTable } from "../../src/server/make-route-table.ts";
import { openApi } from "../../src/server/open-api.ts";
import type { ServerRoute } from "../../src/server/server-route.ts";
import { routeUses } from "./route-uses.ts";
import { type AnsweredRequest, RouteWorld } from "./route-world.ts";

const table = makeRouteTable();
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema({ ...(closed(openApi(table)) as object), $id: "api" });

/** The statuses that each route has answered with. */
const answered = new Map<string, Set<number>>();
let world: RouteWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

/** Returns the schema with every object closed, so that a field that the document does not name is an error. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  const isObject = parts.type === "object" && typeof parts.properties === "object";
  return isObject ? { additionalProperties: false, ...parts } : parts;
}

/** Returns what is wrong with a value by a schema of the document. */
function problems(schema: JsonObject, value: unknown): readonly unknown[] {
  const named = JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/components', '"api#/components'));
  const validate = ajv.compile(named);
  return validate(value) ? [] : [validate.errors, value];
}

function checkAnswer(route: ServerRoute, { status, media, body }: AnsweredRequest): void {
  expect(Object.keys(route.answers), `${route.verb} answered with ${status}`).toContain(String(status));
  const schema = route.answers[status];
  if (schema !== null && schema !== undefined) expect(problems(schema, body), route.verb).toEqual([]);
  else if (status === 200) expect(media, route.verb).toContain(route.media);
  else expect(body, route.verb).toBeUndefined();
  const statuses = answered.get(route.verb) ?? new Set();
  answered.set(route.verb, statuses.add(status));
}

/** Returns what a client returned, as the schema of the verb describes it. */
function asData(returned: unknown): unknown {
  if (Array.isArray(returned) && "next" in returned && "count" in returned)
    return { items: [...returned], next: returned.next, count: returned.count };
  return returned === undefined ? null : JSON.parse(JSON.stringify(returned));
}

describe.each(table.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
  it("answers as the OpenAPI document and the typed client say", async () => {
    const use = routeUses[route.verb];
    if (use === undefined) throw new Error(`add a use of ${route.verb} to route-uses.ts that the server answers`);
    world = await RouteWorld.open(table);
    const returned = await use(world);
    expect(world.answers.map(({ verb }) => verb)).toContain(route.verb);
    for (const answer of world.answers) checkAnswer(world.route(answer.verb), answer);
    const verb = engineSchemas.verbs[route.verb];
    if (verb !== undefined && returned !== "no value of the client")
      expect(problems(verb.answer, asData(returned))).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  it("refuses with a problem document as the OpenAPI document says", async () => {
    world = await RouteWorld.open(table);
    const { status, body } = await world.refusal(route);
    expect(problems({ $ref: "#/components/schemas/Problem" }, body)).toEqual([]);
    expect(body).toMatchObject({ status, code: "INVALID_INPUT" });
  });
});

describe("the OpenAPI document", () => {
  it("lists no answer that no route gives", () => {
    const documented = table.flatMap(({ verb, answers }) => Object.keys(answers).map((status) => `${verb} ${status}`));
    const given = [...answered].flatMap(([verb, statuses]) => [...statuses].map((status) => `${verb} ${status}`));
    expect(documented.filter((answer) => !given.includes(answer))).toEqual([]);
  });

  it("has the schemas of every verb that a route names", () => {
    const missing = table.filter(({ verb }) => !(verb in engineSchemas.verbs)).map(({ verb }) => verb);
    expect(missing.sort()).toEqual([
      "openRun.answerModelCall",
      "openapi",
      "run.export",
      "run.stream",
      "stream",
      "whoami",
    ]);
  });
});
