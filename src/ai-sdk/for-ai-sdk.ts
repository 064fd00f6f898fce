import type { Governed } from "../agents/governed.ts";
import type { RecordedFetchOptions } from "../agents/recorded-fetch.ts";
import type { PrincipalOptions } from "../engine/api/request-options.ts";
import { readDecisions } from "./approval-messages.ts";
import { type AiSdkTool, describeTool, GovernedTool } from "./governed-tool.ts";

/** A call as `toolApproval` of AI SDK 7 receives it. */
export interface ApprovalQuestion {
  readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown };
  readonly messages: readonly unknown[];
}

/** The status that AI SDK 7 expects. */
export type ApprovalStatus =
  | { readonly type: "user-approval"; readonly reason: string }
  | { readonly type: "not-applicable" };

/** A governed session for the AI SDK, versions 6 and 7. */
export interface AiSdkAdapter extends Pick<Governed, "run" | "close"> {
  /** Governs the tools of `generateText`, `streamText` or `ToolLoopAgent`. */
  tools<Tools extends Readonly<Record<string, object>>>(tools: Tools): Tools;
  /** The option `fetch` of the provider: the answers of the model are recorded, and given again after a crash. */
  fetch(options?: RecordedFetchOptions): typeof globalThis.fetch;
  /** The value of `toolApproval` in AI SDK 7. The request for an approval then says why. */
  readonly approval: (question: ApprovalQuestion) => Promise<ApprovalStatus>;
  /**
   * Decides the held calls that approval responses name, for the person whom your program has authenticated. Takes the
   * messages of a chat or of a model, or one tool part of a chat.
   */
  decide(responses: unknown, options: PrincipalOptions): Promise<void>;
}

const HELD = "a person has to approve this call";

/** Makes a governed session usable by the AI SDK. */
export function forAiSdk(governed: Governed): AiSdkAdapter {
  const known = new Map<string, GovernedTool>();
  governed.expectLibrary({ name: "ai", tested: ["6", "7"] }, "writ/ai-sdk");
  return {
    run: governed.run,
    close: (options) => governed.close(options),
    fetch: (options) => governed.fetch(options),
    tools: (tools) => {
      const entries = Object.entries(tools) as readonly (readonly [string, AiSdkTool])[];
      governed.declare(entries.map(([name, tool]) => describeTool(name, tool)));
      return Object.fromEntries(
        entries.map(([name, tool]) => {
          if (typeof tool.execute !== "function") return [name, tool];
          const governedTool = new GovernedTool(governed, name, tool);
          known.set(name, governedTool);
          return [name, governedTool.forFramework];
        }),
      ) as typeof tools;
    },
    approval: async ({ toolCall: { toolCallId, toolName, input }, messages }) => {
      const isHeld = await known.get(toolName)?.isHeld(input, { toolCallId, messages });
      return isHeld ? { type: "user-approval", reason: HELD } : { type: "not-applicable" };
    },
    decide: (responses, options) => governed.decide(readDecisions(responses), options),
  };
}
