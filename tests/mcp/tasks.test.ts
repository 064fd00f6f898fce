import type { AddressInfo } from "node:net";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Engine } from "../../src/index.ts";
import { serveGatewayHttp } from "../../src/mcp/gateway-http.ts";
import { ana, confirming, connect, type GatewayStage, gatewayStage, told } from "./gateway-fixture.ts";
import { NewerTaskClient, olderTaskSession } from "./task-clients.ts";

const token = "a token of sixteen characters";
const post = (text: string) => ({ name: "post", arguments: { text } });

async function gateIn(engine: Engine): Promise<string> {
  const [gate] = await engine.gates({ principal: ana });
  if (gate === undefined) throw new Error("no call is held");
  return gate.gate_id;
}

async function servedOverHttp(stage: GatewayStage, engine: Engine): Promise<URL> {
  const gateway = await stage.gateway(engine, { notes: stage.scripted() });
  const server = await serveGatewayHttp(gateway, { port: 0, token });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
}

describe("tasks of a client of the revision 2025-11-25", () => {
  it("follow a held call to its result, which is made once", async () => {
    const stage = gatewayStage();
    const engine = await stage.engine();
    const client = await connect(await stage.gateway(engine, { notes: stage.scripted() }));
    const tools = (await client.listTools()).tools;
    expect(tools.every(({ execution }) => execution?.taskSupport === "optional")).toBe(true);
    const session = await olderTaskSession(client);
    const execution = await session.callTool("post", { text: "one" }, { task: { preference: "prefer" } });
    expect(execution.kind).toBe("task");
    const settled = execution.settle();
    await engine.approve(await gateIn(engine), { principal: ana });
    const result = resultFromTaskOutcome((await settled).outcome);
    expect(told(result)).toMatchObject({ text: "posted one", status: "succeeded" });
    expect(stage.lines()).toEqual(["one"]);
    // The answer was delivered, so an equal call is a new one.
    expect(told(await client.callTool(post("one"))).status).toBe("held");
  });

  it("are listed, and an equal question is the same task until its answer was delivered", async () => {
    const stage = gatewayStage();
    const engine = await stage.engine();
    const client = await connect(await stage.gateway(engine, { notes: stage.scripted() }));
    const create = async () => {
      const asked = { method: "tools/call", params: { ...post("one"), task: {} } };
      return ((await client.request(asked, anyResult)) as { task: { taskId: string } }).task.taskId;
    };
    const ids = [await create(), await create()];
    expect(ids[0]).toBe(ids[1]);
    const session = await olderTaskSession(client);
    const { tasks } = await session.listTasks();
    expect(tasks.map(({ taskId, status }) => [taskId, status])).toEqual([[ids[0], "working"]]);
    expect(tasks[0]?.statusMessage).toContain("Held: a person has to approve this call");
  });

  it("ask the user of the client for a confirmation before the result", async () => {
    const stage = gatewayStage();
    const engine = await stage.engine({ policies: [confirming] });
    const gateway = await stage.gateway(engine, { notes: stage.scripted() });
    const client = await connect(gateway, { capabilities: { elicitation: { form: {} } } });
    const shown: string[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      shown.push(params.message);
      return { action: "accept", content: {} };
    });
    const created = (await client.request(
      { method: "tools/call", params: { ...post("one"), task: {} } },
      anyResult,
    )) as { task: { taskId: string; status: string } };
    expect(created.task.status).toBe("input_required");
    const { taskId } = created.task;
    const result = await client.request({ method: "tasks/result", params: { taskId } }, anyResult);
    expect(told(result)).toMatchObject({ text: "posted one", status: "succeeded" });
    expect(shown).toHaveLength(1);
    expect(stage.lines()).toEqual(["one"]);
  });
});

const anyResult = { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } } as const;

describe("tasks of a client of the revision 2026-07-28", () => {
  it("follow a held call to its result, which is made once", async () => {
    const stage = gatewayStage();
    const engine = await stage.engine();
    const session = await new NewerTaskClient(await servedOverHttp(stage, engine), token).session();
    const execution = await session.callTool("post", { text: "one" });
    expect(execution.kind).toBe("task");
    await engine.approve(await gateIn(engine), { principal: ana });
    const result = resultFromTaskOutcome((await execution.settle()).outcome);
    expect(told(result)).toMatchObject({ text: "posted one", status: "succeeded" });
    expect(stage.lines()).toEqual(["one"]);
  });

  it("are made only for clients that declare them, and only for calls that wait", async () => {
    const stage = gatewayStage();
    const engine = await stage.engine();
    const url = await servedOverHttp(stage, engine);
    const taking = new NewerTaskClient(url, token);
    expect(await taking.request("tools/call", { name: "look", arguments: { text: "a" } })).toMatchObject({
      resultType: "complete",
      content: [{ type: "text", text: "a " }],
    });
    const plain = new NewerTaskClient(url, token, {});
    expect(told(await plain.request("tools/call", post("one"))).status).toBe("held");
    const { taskId, ...created } = await taking.request("tools/call", post("one"));
    expect(created).toMatchObject({ resultType: "task", status: "working", ttlMs: null });
    await expect(plain.request("tasks/get", { taskId })).rejects.toMatchObject({ code: -32021 });
    await expect(taking.request("tasks/result", { taskId })).rejects.toMatchObject({ code: -32601 });
  });

  it("ask the user of the client for a confirmation, and take an answer to no other question", async () => {
    const stage = gatewayStage();
    const engine = await stage.engine({ policies: [confirming] });
    const url = await servedOverHttp(stage, engine);
    const tasks = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const client = new NewerTaskClient(url, token, tasks);
    const { taskId } = await client.request("tools/call", post("one"));
    const asking = new NewerTaskClient(url, token, { ...tasks, elicitation: { form: {} } });
    const { status, inputRequests } = await asking.request("tasks/get", { taskId });
    expect(status).toBe("input_required");
    const [key = ""] = Object.keys(inputRequests as object);
    const respond = (inputResponses: object) => asking.request("tasks/update", { taskId, inputResponses });
    await respond({ other: { action: "accept", content: {} } });
    await respond({ [key]: { action: "decline" } });
    expect(stage.lines()).toEqual([]);
    expect(await respond({ [key]: { action: "accept", content: {} } })).toMatchObject({ resultType: "complete" });
    for (let done = false; !done; ) {
      const { status: now, result } = await asking.request("tasks/get", { taskId });
      done = now === "completed";
      if (done) expect(told(result)).toMatchObject({ text: "posted one", status: "succeeded" });
    }
    expect(stage.lines()).toEqual(["one"]);
  });

  it("acknowledge a cancellation, which neither decides about a held call nor ends it", async () => {
    const stage = gatewayStage();
    const engine = await stage.engine();
    const client = new NewerTaskClient(await servedOverHttp(stage, engine), token);
    const { taskId } = await client.request("tools/call", post("one"));
    expect(await client.request("tasks/cancel", { taskId })).toMatchObject({ resultType: "complete" });
    expect((await client.request("tasks/get", { taskId })).status).toBe("working");
    expect(await engine.gates({ principal: ana })).toHaveLength(1);
  });

  it("outlive the gateway: the next one finds the call on record, and its result", async () => {
    const stage = gatewayStage();
    const first = await stage.engine();
    const gateway = await stage.gateway(first, { notes: stage.scripted() });
    const server = await serveGatewayHttp(gateway, { port: 0, token });
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
    const { taskId } = await new NewerTaskClient(url, token).request("tools/call", post("one"));
    server.close();
    server.closeAllConnections();
    await gateway.close();
    await first.close();
    const engine = await stage.engine();
    const client = new NewerTaskClient(await servedOverHttp(stage, engine), token);
    expect((await client.request("tasks/get", { taskId })).status).toBe("working");
    await engine.approve(await gateIn(engine), { principal: ana });
    for (let status: unknown = null; status !== "completed"; )
      ({ status } = await client.request("tasks/get", { taskId }));
    expect(stage.lines()).toEqual(["one"]);
  });

  it("refuse an id that names no task of the session", async () => {
    const stage = gatewayStage();
    const client = new NewerTaskClient(await servedOverHttp(stage, await stage.engine()), token);
    const forged = Buffer.from('["run_1","call",1]').toString("base64url");
    for (const taskId of ["", "x", "bm8", forged, "y".repeat(2000)])
      await expect(client.request("tasks/get", { taskId })).rejects.toMatchObject({ code: -32602 });
  });
});
