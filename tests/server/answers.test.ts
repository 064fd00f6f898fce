import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engineSchemas } from "../../src/server/engine-schemas.ts";
import { openApi } from "../../src/server/open-api.ts";
import { makeRouteTable } from "../../src/server/route-table.ts";
import { type SampleObjects, sampleRequest, send } from "./route-samples.ts";
import { planOf, type ServedEngine, serveEngine } from "./server-fixture.ts";

const table = makeRouteTable();
const document = openApi(table);
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema({ ...document, $id: "api" });

let served: ServedEngine;
beforeAll(async () => {
  served = await serveEngine();
});
afterAll(() => served.close());

/** Returns new objects of the tenant: a run with a gate, and the id of a session. */
async function newObjects(verb: string): Promise<SampleObjects> {
  const principal = { id: "bot", kind: "agent", tenant: "acme" } as const;
  const run = await served.engine.submit(planOf(`${verb}@example.org`), { principal });
  const { gates } = await run.result();
  const session_id = Buffer.from(JSON.stringify({ session: `session of ${verb}` })).toString("base64url");
  return { run_id: run.run_id, gate_id: gates[0]?.gate_id as string, step_id: "send", session_id };
}

/** Arguments besides the required ones, so that a route has something to answer. */
const given: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  state: { project: "website" },
  "checkpoints.list": { project: "website" },
  openRun: { session: "s" },
  stream: { lists: "runs" },
  "schedules.set": { schedule: "daily" },
  "policies.remove": { name: "p" },
  endCall: { token: "t", output: 1 },
};

/** Routes that refuse these arguments, because they need objects with a history. Their tests are those of the engine. */
const refused = new Set([
  "resolve",
  "resume",
  "checkpoints.diff",
  "checkpoints.restore",
  "checkpoints.fork",
  "checkpoints.load",
  "projects.revert",
  "policies.set",
  "policies.remove",
  "schedules.pause",
  "schedules.resume",
  "schedules.remove",
  "endCall",
  "openRun.answerModelCall",
  "openRun.markDelivered",
  "openRun.confirmCall",
  "openRun.beginCall",
  "projects.open",
  "run.blob",
  "halts.lift",
  "forget",
]);

describe.each(table.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
  it("answers as the OpenAPI document says", async () => {
    const objects = await newObjects(route.verb);
    const token = served.key({});
    if (route.verb === "run.finished" || route.verb === "run.stream") {
      const handle = await served.engine.run(objects.run_id, {
        principal: { id: "ana", kind: "person", tenant: "acme" },
      });
      await handle.cancel();
    }
    const request = sampleRequest(route, objects, given[route.verb] ?? {});
    const response = await send(served.server.url, route, request, { authorization: `Bearer ${token}` });
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream")) {
      await response.body?.cancel();
      return expect(route.media).toBe("text/event-stream");
    }
    const text = await response.text();
    const isProblem = type.startsWith("application/problem+json");
    expect([response.status, isProblem ? text : ""]).toEqual([
      refused.has(route.verb) ? response.status : expect.any(Number),
      refused.has(route.verb) ? expect.any(String) : "",
    ]);
    const answers = isProblem ? null : route.answers[response.status];
    if (isProblem) expectValid({ $ref: "api#/components/schemas/Problem" }, JSON.parse(text));
    else expect(Object.keys(route.answers)).toContain(String(response.status));
    if (answers !== null && answers !== undefined) expectValid(answers, JSON.parse(text));
    expect(served.bugs).toEqual([]);
  });
});

/** Validates a value by a schema of the document. */
function expectValid(schema: object, value: unknown): void {
  const named = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components'));
  const validate = ajv.compile(named);
  validate(value);
  expect(validate.errors ?? []).toEqual([]);
}

describe("the schemas of the engine", () => {
  it("are those of every verb that a route names", () => {
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
