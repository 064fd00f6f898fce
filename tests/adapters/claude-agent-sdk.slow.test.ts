import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type GovernOptions, govern } from "../../src/agents/govern.ts";
import { forClaudeAgent } from "../../src/claude-agent-sdk/for-claude-agent.ts";
import type { EngineOptions } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import type { ModelScript } from "../../src/testing/scripted-model/model-script.ts";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { anaPerson, botAgent } from "../engine/engine-fixture.ts";
import { claudeSdkFolder } from "../repo/claude-sdk-folder.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { type ClaudeMessage, isolatedOptions, loadClaudeSdk, loadZod, newWorkplace } from "./claude-agent-fixture.ts";

if (claudeSdkFolder === null)
  process.stderr.write(
    "\nSKIPPED: the tests of the Claude Agent SDK (414 MB). Install @anthropic-ai/claude-agent-sdk@0.3.325 in a folder, and name the folder in WRIT_CLAUDE_AGENT_SDK.\n\n",
  );

type ToolResult = { readonly tool_use_id: string; readonly content: unknown; readonly is_error?: boolean };

/** The results that Claude Code sent to the model, by the id of the call. */
function resultsIn(messages: readonly ClaudeMessage[]): Record<string, ToolResult> {
  const blocks = messages.flatMap(({ type, message }) =>
    type === "user" ? ((message as { content: readonly ToolResult[] }).content as readonly ToolResult[]) : [],
  );
  return Object.fromEntries(blocks.filter(({ tool_use_id }) => tool_use_id).map((block) => [block.tool_use_id, block]));
}

async function started(script: ModelScript, mode: "auto_exec" | "human_gated" = "auto_exec") {
  const sdk = await loadClaudeSdk();
  const z = await loadZod();
  const places = newWorkplace();
  const model = await scriptedModel(script);
  onTestFinished(() => model.close());
  const paid: unknown[] = [];
  const open = async (more: Partial<GovernOptions> = {}, engineOptions: Partial<EngineOptions> = {}) => {
    const files = engineOptions.resources === undefined ? {} : { files: "files" };
    const engine = await createEngine({
      ...engineOptions,
      store: sqlite(join(places.folder, "writ.db")),
      tools: [],
      tenants: { acme: { mode } },
    });
    onTestFinished(() => engine.close());
    const governed = await govern({ engine, session: "chat", principal: botAgent, print: () => {}, ...more });
    return { engine, writ: await forClaudeAgent(governed, files) };
  };
  const shop = () =>
    sdk.createSdkMcpServer({
      name: "shop",
      version: "1",
      tools: [
        sdk.tool("refund", "Pays back", { cents: z.number() }, async (input: { readonly cents: number }) => {
          paid.push(input.cents);
          return { content: [{ type: "text", text: `paid ${input.cents}` }] };
        }),
      ],
    });
  const allowedTools = ["Bash", "Write", "Edit", "Read", "Agent", "mcp__shop__refund"];
  const options = (more: object = {}) => ({
    ...isolatedOptions(places.work, places.home, model.origin),
    allowedTools,
    mcpServers: { shop: shop() },
    ...more,
  });
  const ask = async (writ: Awaited<ReturnType<typeof open>>["writ"], more: object = {}, prompt = "go") => {
    const messages: ClaudeMessage[] = [];
    for await (const message of sdk.query({ prompt, options: writ.options(options(more)) })) messages.push(message);
    return messages;
  };
  return { ...places, model, paid, open, ask, options, sdk };
}

describe.skipIf(claudeSdkFolder === null)("the real Claude Agent SDK", () => {
  it("makes the calls of built-in and of own tools once, on record; an exit code is an output", async () => {
    const { work, open, ask, paid, model } = await started([
      { calls: [{ tool: "Bash", input: { command: "echo one >> log.txt; exit 1" } }] },
      {
        calls: [
          { tool: "mcp__shop__refund", input: { cents: 5 } },
          { tool: "mcp__shop__refund", input: { cents: 7 } },
        ],
      },
      { text: "done" },
    ]);
    const { writ } = await open();
    const messages = await ask(writ);
    expect(messages.at(-1)).toMatchObject({ type: "result", subtype: "success", result: "done" });
    expect(readFileSync(join(work, "log.txt"), "utf8")).toBe("one\n");
    expect(paid.sort()).toEqual([5, 7]);
    const calls = (await writ.run.turns()).flatMap((turn) => turn.calls);
    expect(calls.map(({ tool, answer }) => [tool, answer])).toEqual([
      ["Bash", { status: "succeeded", output: { exit_code: 1, output: "" } }],
      ["mcp__shop__refund", { status: "succeeded", output: { content: [{ type: "text", text: "paid 5" }] } }],
      ["mcp__shop__refund", { status: "succeeded", output: { content: [{ type: "text", text: "paid 7" }] } }],
    ]);
    expect(model.requests.length).toBe(3);
  });

  it("denies a held call with its gate, and makes the same call once after the approval", async () => {
    const write = { command: "echo hello > a.txt" };
    const { work, open, ask, paid } = await started(
      [
        {
          calls: [
            { tool: "Bash", input: write },
            { tool: "mcp__shop__refund", input: { cents: 5 } },
          ],
        },
        { text: "I wait" },
        { calls: [{ tool: "Bash", input: write }] },
        { text: "done" },
      ],
      "human_gated",
    );
    const { writ, engine } = await open();
    const first = resultsIn(await ask(writ));
    const gates = await engine.gates({ principal: anaPerson });
    expect(JSON.stringify(first.call_1_1)).toContain("Held:");
    expect(
      gates.map(({ gate_id }) =>
        [first.call_1_1, first.call_1_2].some((result) => JSON.stringify(result).includes(gate_id)),
      ),
    ).toEqual([true, true]);
    expect(existsSync(join(work, "a.txt"))).toBe(false);
    await writ.decide(
      [
        { id: "call_1_1", approved: true },
        { id: "call_1_2", approved: true },
      ],
      { principal: anaPerson },
    );
    await expect.poll(() => paid).toEqual([5]); // A tool in this process is run by the approval.
    await ask(writ);
    expect(readFileSync(join(work, "a.txt"), "utf8")).toBe("hello\n");
    const calls = (await writ.run.turns()).flatMap((turn) => turn.calls);
    expect(calls.map(({ id, answer }) => [id, answer?.status])).toEqual([
      ["call_1_1", "succeeded"],
      ["call_1_2", "succeeded"],
    ]);
  });

  it("captures the files of each call, keeps them though the call fails, and goes back to a checkpoint", async () => {
    const { work, open, ask } = await started((_, answered) => {
      const path = join(work, "a.txt");
      const turns = [
        { calls: [{ tool: "Write", input: { file_path: path, content: "one" } }] },
        { calls: [{ tool: "Bash", input: { command: "echo two > b.txt; rm a.txt; exit 2" } }] },
      ];
      return turns[answered] ?? { text: "done" };
    });
    const { writ, engine } = await open({}, { resources: { files: new HostFilesystem({ root: work }) } });
    await ask(writ);
    expect([existsSync(join(work, "a.txt")), readFileSync(join(work, "b.txt"), "utf8")]).toEqual([false, "two\n"]);
    const restore = async (id: string, side: "before" | "after") =>
      engine.checkpoints.restore(await writ.checkpoint(id, side), { principal: anaPerson });
    await restore("call_2_1", "before");
    expect([readFileSync(join(work, "a.txt"), "utf8"), existsSync(join(work, "b.txt"))]).toEqual(["one", false]);
    await restore("call_1_1", "before");
    expect([existsSync(join(work, "a.txt")), existsSync(join(work, "b.txt"))]).toEqual([false, false]);
    await restore("call_2_1", "after");
    expect([existsSync(join(work, "a.txt")), readFileSync(join(work, "b.txt"), "utf8")]).toEqual([false, "two\n"]);
  });

  it("blocks a call if its hook fails", async () => {
    const { work, open, ask } = await started([
      { calls: [{ tool: "Bash", input: { command: "echo one > a.txt" } }] },
      { text: "done" },
    ]);
    const { writ, engine } = await open();
    await engine.close();
    const results = resultsIn(await ask(writ, { persistSession: false }));
    expect(results.call_1_1).toMatchObject({ is_error: true });
    expect(existsSync(join(work, "a.txt"))).toBe(false);
  });

  it("records that nothing was done if the settings of Claude Code refuse the call", async () => {
    const { work, open, ask } = await started([
      { calls: [{ tool: "Bash", input: { command: "echo one > a.txt" } }] },
      { text: "done" },
    ]);
    const { writ } = await open();
    await ask(writ, { allowedTools: [] });
    const calls = (await writ.run.turns()).flatMap((turn) => turn.calls);
    expect(calls.map(({ tool, answer }) => [tool, answer?.status])).toEqual([["Bash", "failed"]]);
    expect(existsSync(join(work, "a.txt"))).toBe(false);
  });

  it("makes no further call after an abort", async () => {
    const abortController = new AbortController();
    const { work, open, ask } = await started((_, answered) => {
      if (answered === 1) abortController.abort();
      return { calls: [{ tool: "Bash", input: { command: `echo ${answered} >> a.txt` } }] };
    });
    const { writ } = await open();
    await ask(writ, { abortController }).catch(() => {});
    const calls = (await writ.run.turns()).flatMap((turn) => turn.calls);
    expect(calls.map(({ input, answer }) => [input, answer?.status])).toEqual([
      [expect.objectContaining({ command: "echo 0 >> a.txt" }), "succeeded"],
    ]);
    expect(readFileSync(join(work, "a.txt"), "utf8")).toBe("0\n");
  });

  it("governs the calls of parallel sub-agents, each under the name of its agent", async () => {
    const { work, open, ask } = await started((request, answered) => {
      const prompt = JSON.stringify((request.messages as readonly object[])[0]);
      const [, task] = /SUBTASK (\w+)/u.exec(prompt) ?? [];
      if (task !== undefined)
        return answered === 0
          ? { calls: [{ id: `toolu_${task}`, tool: "Bash", input: { command: `echo ${task} >> ${task}.txt` } }] }
          : { text: `${task} done` };
      const calls = ["one", "two"].map((name) => ({
        tool: "Agent",
        input: {
          description: name,
          prompt: `SUBTASK ${name}`,
          subagent_type: "general-purpose",
          run_in_background: false,
        },
      }));
      return answered === 0 ? { calls } : { text: "done" };
    });
    const { writ } = await open({}, { resources: { files: new HostFilesystem({ root: work }) } });
    await ask(writ);
    const turns = await writ.run.turns();
    const named = turns.flatMap(({ turn, calls }) =>
      calls.map(({ tool, answer }) => [tool, turn !== null, answer?.status]),
    );
    expect(named.filter(([tool]) => tool !== "claude.files").sort()).toEqual([
      ["Agent", false, "succeeded"],
      ["Agent", false, "succeeded"],
      ["Bash", true, "succeeded"],
      ["Bash", true, "succeeded"],
    ]);
    for (const name of ["one", "two"]) expect(readFileSync(join(work, `${name}.txt`), "utf8")).toBe(`${name}\n`);
  });

  it("waits in the hook for the decision, if the session says so", async () => {
    const { work, open, ask } = await started(
      [{ calls: [{ tool: "Bash", input: { command: "echo one > a.txt" } }] }, { text: "done" }],
      "human_gated",
    );
    const { writ, engine } = await open({ hold: "wait" });
    const asking = ask(writ);
    await expect.poll(async () => (await engine.gates({ principal: anaPerson })).length, { timeout: 20_000 }).toBe(1);
    expect(existsSync(join(work, "a.txt"))).toBe(false);
    await writ.decide({ id: "call_1_1", approved: true }, { principal: anaPerson });
    expect((await asking).at(-1)).toMatchObject({ result: "done" });
    expect(readFileSync(join(work, "a.txt"), "utf8")).toBe("one\n");
  });
});

/** A program of a user, in a process of its own. It ends with the last message of the model. */
const program = (sdk: string, dist: string) => `
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const load = (name) => import(pathToFileURL(createRequire(${JSON.stringify(join(sdk, "package.json"))}).resolve(name)).href);
const { createSdkMcpServer, query, tool } = await load("@anthropic-ai/claude-agent-sdk");
const { z } = await load("zod");
const own = (name) => import(pathToFileURL(${JSON.stringify(dist)} + "/" + name + ".js").href);
const { agent, createEngine } = await own("index");
const { govern } = await own("agents");
const { forClaudeAgent } = await own("claude-agent-sdk");
const { sqlite } = await own("sqlite");
const { HostFilesystem } = await own("files");
const [work, isolated] = [process.argv[2], JSON.parse(process.argv[3])];
const engine = await createEngine({ store: sqlite("writ.db"), tools: [], tenants: { acme: { mode: "auto_exec" } }, resources: { files: new HostFilesystem({ root: work }) } });
const governed = await govern({ engine, session: "chat", principal: agent("bot", "acme"), waitMs: 30_000, print: () => {} });
const writ = await forClaudeAgent(governed, { files: "files" });
const refund = tool("refund", "Pays back", { cents: z.number() }, async ({ cents }) => {
  appendFileSync("paid.log", cents + "\\n");
  return { content: [{ type: "text", text: "paid" }] };
});
const options = { ...isolated, allowedTools: ["Bash", "mcp__shop__refund"], mcpServers: { shop: createSdkMcpServer({ name: "shop", version: "1", tools: [refund] }) } };
const prompt = writ.resumed ? "Continue." : "Refund order 42.";
for await (const message of query({ prompt, options: writ.options(options) })) if (message.type === "result") console.log(message.result);
await engine.close();
`;

describe.skipIf(claudeSdkFolder === null)("a program with the Claude Agent SDK that is killed", () => {
  async function prepared(script: ModelScript) {
    const places = newWorkplace();
    const model = await scriptedModel(script);
    onTestFinished(() => model.close());
    const path = join(places.folder, "program.mjs");
    writeFileSync(path, program(claudeSdkFolder as string, repositoryPath("dist")));
    const start = () => {
      const isolated = JSON.stringify(isolatedOptions(places.work, places.home, model.origin));
      const child = spawn(process.execPath, [path, places.work, isolated], { cwd: places.folder });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (piece) => {
          output += piece;
        });
      onTestFinished(() => void child.kill("SIGKILL"));
      const exited = once(child, "exit");
      return {
        kill: async () => {
          child.kill("SIGKILL");
          await exited;
        },
        ended: async () => {
          await exited;
          return output;
        },
      };
    };
    return { ...places, model, start };
  }

  it("goes on from its transcript: no answer of the model is asked for twice, and an act is made once", async () => {
    let number = 0;
    let onAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      onAsked = resolve;
    });
    const seen: number[] = [];
    const { folder, start } = await prepared((_, answered) => {
      number += 1;
      seen.push(answered);
      if (number === 2) onAsked();
      const input = { cents: 5 };
      return answered === 0
        ? { calls: [{ id: `toolu_${number}`, tool: "mcp__shop__refund", input }] }
        : { text: "done" };
    });
    const first = start();
    await asked; // The refund was made, and the model is asked for the next answer.
    await first.kill();
    expect(await start().ended()).toBe("done\n");
    expect(readFileSync(join(folder, "paid.log"), "utf8")).toBe("5\n");
    expect(seen.filter((answered) => answered === 0).length).toBe(1);
  });

  it("repeats no command that was cut off, leaves the files as they are, and can go back to before it", async () => {
    let number = 0;
    const { folder, work, start } = await prepared((_, answered) => {
      number += 1;
      const command = "echo one >> log.txt; sleep 3";
      return number <= 2
        ? { calls: [{ id: `toolu_${number}`, tool: "Bash", input: { command } }] }
        : { text: `after ${answered}` };
    });
    const first = start();
    await expect.poll(() => existsSync(join(work, "log.txt")), { timeout: 30_000 }).toBe(true);
    await first.kill();
    expect(await start().ended()).toMatch(/^after \d+\n$/u);
    expect(readFileSync(join(work, "log.txt"), "utf8")).toBe("one\n");
    const files = new HostFilesystem({ root: work });
    const engine = await createEngine({
      store: sqlite(join(folder, "writ.db")),
      tools: [],
      tenants: { acme: { mode: "auto_exec" } },
      resources: { files },
    });
    onTestFinished(() => engine.close());
    const governed = await govern({ engine, session: "chat", principal: botAgent, waitMs: 30_000, print: () => {} });
    const writ = await forClaudeAgent(governed, { files: "files" });
    await engine.checkpoints.restore(await writ.checkpoint("toolu_1", "before"), { principal: anaPerson });
    expect(existsSync(join(work, "log.txt"))).toBe(false);
  });
});
