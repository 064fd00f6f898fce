import assert from "node:assert/strict";
import type { CallAnswer } from "../../src/core/run/call-answer.ts";
import type { Engine, EngineOptions } from "../../src/engine/api/engine-api.ts";
import type { OpenRun, OpenRunOptions } from "../../src/engine/api/open-run-api.ts";
import { botAgent, type EngineFixture } from "./engine-fixture.ts";
import { type ScriptedTool, scriptedTool } from "./scripted-tool.ts";

export const reads = { effect: "reads" } as const;

/** Acts are held for a person. */
export const gated = { tenants: { acme: { mode: "human_gated" } } } as const;

/** A tool that reads, and one that acts. */
export const searchTool = (): ScriptedTool =>
  scriptedTool("search", ({ input }) => ({ found: input.q ?? null }), reads);
export const mailTool = (more: Parameters<typeof scriptedTool>[2] = {}): ScriptedTool =>
  scriptedTool("mail", ({ context }) => ({ id: context.step_id }), more);

/** Opens the session "chat" of the bot. */
export function openChat(engine: Engine, more: Partial<OpenRunOptions> = {}): Promise<OpenRun> {
  return engine.openRun({ session: "chat", principal: botAgent, ...more });
}

/** Opens an engine with these tools, and the session "chat" in it. */
export async function openedChat(
  stage: EngineFixture,
  tools: readonly ScriptedTool[],
  options: Partial<EngineOptions> = {},
): Promise<{ readonly engine: Engine; readonly run: OpenRun }> {
  const engine = await stage.open({ tools: tools.map(({ tool }) => tool), ...options });
  return { engine, run: await openChat(engine) };
}

export function gateOf(answer: CallAnswer | null | undefined): string {
  assert(answer?.status === "held", "the call is held");
  return answer.gate.gate_id;
}
