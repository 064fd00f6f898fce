import { describe, expect, it } from "vitest";
import { type GovernOptions, govern } from "../../src/agents/govern.ts";
import { forClaudeAgent } from "../../src/claude-agent-sdk/for-claude-agent.ts";
import type { ClaudeHook, HookInput } from "../../src/claude-agent-sdk/governed-hooks.ts";
import { anaPerson, botAgent, storeKinds } from "../engine/engine-fixture.ts";
import { gated } from "../engine/open-run-fixture.ts";

interface Matcher {
  readonly hooks: readonly ClaudeHook[];
  readonly timeout?: number;
  readonly onFailure?: string;
}
interface GovernedOptions {
  readonly hooks: Readonly<Record<string, readonly Matcher[]>>;
  readonly sessionId?: string;
  readonly resume?: string;
  readonly sessionStore?: {
    append(key: object, entries: readonly object[]): Promise<void>;
    load(key: object): Promise<readonly object[] | null>;
  };
}

/** The payloads of hooks as Claude Code 2.1.325 sends them, without the fields that the adapter does not read. */
const bash = { tool_name: "Bash", tool_input: { command: "echo one; exit 3" }, tool_use_id: "toolu_1" };
const asked = (call: object = bash): HookInput => ({ hook_event_name: "PreToolUse", ...call });
const failed = (error: string, call: object = bash): HookInput => ({
  ...{ hook_event_name: "PostToolUseFailure", error, is_interrupt: false, ...call },
});
const batch = (...calls: readonly object[]): HookInput => ({
  hook_event_name: "PostToolBatch",
  tool_calls: calls.map((call) => ({ tool_response: "text", ...call })) as never,
});
const ALLOWED = {};
const denied = (reason: unknown) => ({
  hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: reason },
});

describe.each(storeKinds)("the hooks for the Claude Agent SDK on $name", ({ newFixture }) => {
  function started(mode: object = {}) {
    const stage = newFixture();
    const printed: string[] = [];
    const open = async (more: Partial<GovernOptions> = {}, given: object = { persistSession: false }) => {
      const engine = await stage.open({ tools: [], ...mode });
      const print = (text: string) => void printed.push(text);
      const governed = await govern({ engine, session: "chat", principal: botAgent, print, ...more });
      const writ = await forClaudeAgent(governed);
      const options = writ.options(given) as GovernedOptions;
      const fire = async (input: HookInput) => {
        const matcher = options.hooks[input.hook_event_name]?.at(-1) as Matcher;
        return (matcher.hooks[0] as ClaudeHook)(input, input.tool_use_id, { signal: new AbortController().signal });
      };
      const calls = async () =>
        (await writ.run.turns()).flatMap(({ turn, calls }) =>
          calls.map(({ id, tool, answer }) => ({ id, tool, turn, answer })),
        );
      return { engine, writ, options, fire, calls };
    };
    return { stage, printed, open };
  }

  it("block their call if they fail, and come after the hooks of the program", async () => {
    const own = { hooks: [async () => ({})] };
    const { options } = await started().open({}, { hooks: { PreToolUse: [own], Stop: [own] } });
    expect(options.hooks.PreToolUse?.[0]).toBe(own);
    for (const event of ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"]) {
      const ours = options.hooks[event]?.at(-1);
      expect([event, ours?.onFailure, Number(ours?.timeout) > 24 * 60 * 60]).toEqual([event, "block", true]);
    }
  });

  it("record the output of a call, and an exit code as an output", async () => {
    const { fire, calls } = await started().open();
    expect(await fire(asked())).toEqual(ALLOWED);
    await fire(failed("Exit code 3\none"));
    const read = { tool_name: "Read", tool_input: { file_path: "/a" }, tool_use_id: "toolu_2" };
    expect(await fire(asked(read))).toEqual(ALLOWED);
    await fire({ hook_event_name: "PostToolUse", ...read, tool_response: { type: "text", at: new Date(0) } });
    expect(await calls()).toEqual([
      {
        id: "toolu_1",
        tool: "Bash",
        turn: null,
        answer: { status: "succeeded", output: { exit_code: 3, output: "one" } },
      },
      {
        ...{ id: "toolu_2", tool: "Read", turn: null },
        answer: { status: "succeeded", output: { type: "text", at: "1970-01-01T00:00:00.000Z" } },
      },
    ]);
  });

  it("leave an act in doubt if it was stopped or failed after it began", async () => {
    const { fire, calls } = await started().open();
    await fire(asked());
    await fire({ ...failed("Exit code 137\n"), is_interrupt: true });
    const write = { tool_name: "Write", tool_input: { file_path: "/a", content: "b" }, tool_use_id: "toolu_2" };
    await fire(asked(write));
    await fire(failed("ENOSPC: no space left on device", write));
    expect((await calls()).map(({ answer }) => answer?.status)).toEqual(["in_doubt", "in_doubt"]);
  });

  it("record that nothing was done if no hook reports the end of a call in its batch", async () => {
    const { fire, calls } = await started().open();
    await fire(asked());
    await fire(batch({ ...bash, tool_response: "you haven't granted it yet" }));
    expect((await calls()).map(({ answer }) => answer)).toEqual([
      { status: "failed", fault: expect.objectContaining({ message: "you haven't granted it yet" }) },
    ]);
  });

  it("record a call that Claude Code answered itself as refused, and not one that it made", async () => {
    const { engine, fire, calls } = await started(gated).open();
    const unknown = { tool_name: "nosuch", tool_input: { to: "ana" }, tool_use_id: "toolu_1" };
    const unfit = { tool_name: "Write", tool_input: {}, tool_use_id: "toolu_2" };
    const made = { tool_name: "ToolSearch", tool_input: {}, tool_use_id: "toolu_3" };
    await fire(
      batch(
        { ...unknown, tool_response: "<tool_use_error>Error: No such tool available: nosuch</tool_use_error>" },
        { ...unfit, tool_response: "<tool_use_error>InputValidationError: Write failed</tool_use_error>" },
        made,
      ),
    );
    const code = (fault: string) => ({ status: "refused", fault: expect.objectContaining({ code: fault }) });
    expect(await calls()).toEqual([
      { id: "toolu_1", tool: "nosuch", turn: null, answer: code("TOOL_UNKNOWN") },
      { id: "toolu_2", tool: "Write", turn: null, answer: code("INVALID_INPUT") },
    ]);
    expect(await engine.gates({ principal: anaPerson })).toEqual([]);
  });

  it("deny a held call with its gate, and let the same call pass once after the approval", async () => {
    const { open } = started(gated);
    const { fire, writ, engine, calls } = await open();
    expect(await fire(asked())).toEqual(
      denied(expect.stringMatching(/^Held: .*gate_.* make the same call once more/u)),
    );
    expect(await fire(asked({ ...bash, tool_use_id: "toolu_2" }))).toEqual(denied(expect.stringMatching(/^Held: /u)));
    expect((await engine.gates({ principal: anaPerson })).length).toBe(1);
    await writ.decide({ id: "toolu_1", approved: true }, { principal: anaPerson });
    expect(await fire(asked({ ...bash, tool_use_id: "toolu_3" }))).toEqual(ALLOWED);
    await fire(failed("Exit code 3\none", { ...bash, tool_use_id: "toolu_3" }));
    await fire(batch({ ...bash, tool_use_id: "toolu_3" }));
    expect(await calls()).toMatchObject([{ id: "toolu_1", answer: { status: "succeeded" } }]);
    await fire({ hook_event_name: "Stop" });
    expect(await fire(asked({ ...bash, tool_use_id: "toolu_4" }))).toEqual(denied(expect.stringMatching(/^Held: /u)));
  });

  it("tell the model that a rejected call was refused", async () => {
    const { fire, writ } = await started(gated).open();
    await fire(asked());
    await writ.decide({ id: "toolu_1", approved: false, reason: "no" }, { principal: anaPerson });
    expect(await fire(asked({ ...bash, tool_use_id: "toolu_2" }))).toEqual(
      denied(expect.stringMatching(/^Refused: /u)),
    );
  });

  it("do not make an act again whose result the model has not seen when its process died", async () => {
    const { stage, open } = started();
    const first = await open();
    await first.fire(asked());
    await first.fire(failed("Exit code 3\none"));
    await stage.crash();
    const { fire, calls } = await open();
    expect(await fire(asked({ ...bash, tool_use_id: "toolu_2" }))).toEqual(
      denied(expect.stringMatching(/^Done earlier, not done again\. .*"exit_code":3/u)),
    );
    expect((await calls()).map(({ id }) => id)).toEqual(["toolu_1"]);
  });

  it("do not make a call that was cut off again while its outcome is unknown", async () => {
    const { stage, open } = started();
    const first = await open();
    await first.fire(asked());
    await stage.crash();
    const { fire } = await open();
    expect(await fire(asked({ ...bash, tool_use_id: "toolu_2" }))).toEqual(
      denied(expect.stringMatching(/^In doubt: /u)),
    );
  });

  it("name the calls of a sub-agent by it, and print the tools of unknown effect once", async () => {
    const { printed, open } = started();
    const { fire, calls } = await open();
    const lookup = { tool_name: "mcp__web__lookup", tool_input: {}, mcp_server: { name: "web", source: "user" } };
    for (const id of ["toolu_1", "toolu_2"]) {
      await fire(asked({ ...lookup, tool_use_id: id, agent_id: "a1" }));
      await fire({ hook_event_name: "PostToolUse", ...lookup, tool_use_id: id, agent_id: "a1", tool_response: [] });
    }
    expect((await calls()).map(({ tool, turn }) => [tool, turn])).toEqual([
      ["mcp__web__lookup", "a1"],
      ["mcp__web__lookup", "a1"],
    ]);
    expect(printed).toEqual([expect.stringContaining('effects: { mcp__web__lookup: "acts" }')]);
  });

  it("make no call after an abort", async () => {
    const abortController = new AbortController();
    const { fire, calls } = await started().open({}, { abortController });
    abortController.abort();
    expect(await fire(asked())).toEqual(denied(expect.stringMatching(/^Cancelled\./u)));
    expect(await calls()).toEqual([]);
  });

  it("keep the transcript: a later start resumes the same session of Claude", async () => {
    const { stage, open } = started();
    const first = await open({}, {});
    const key = { projectKey: "p", sessionId: first.options.sessionId };
    await first.options.sessionStore?.append(key, [{ type: "user", uuid: "1" }, { type: "mode" }]);
    await first.options.sessionStore?.append(key, [
      { type: "user", uuid: "1" },
      { type: "assistant", uuid: "2" },
    ]);
    await first.options.sessionStore?.append({ ...key, subpath: "agents/a" }, [{ type: "user", uuid: "3" }]);
    await stage.crash();
    const { options, writ } = await open({}, {});
    expect([options.resume, options.sessionId, writ.resumed]).toEqual([key.sessionId, undefined, true]);
    expect(await options.sessionStore?.load(key)).toEqual([
      { type: "user", uuid: "1" },
      { type: "mode" },
      { type: "assistant", uuid: "2" },
    ]);
    expect(await options.sessionStore?.load({ ...key, subpath: "agents/a" })).toEqual([{ type: "user", uuid: "3" }]);
    expect(await options.sessionStore?.load({ ...key, sessionId: "other" })).toBeNull();
  });
});
