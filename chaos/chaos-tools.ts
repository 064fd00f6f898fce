import { cheapSchema } from "../crash/scenario.ts";
import type { Tool, ToolContext } from "../src/core/tool/tool.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import type { EffectLog } from "./effect-log.ts";

interface ToolInput {
  readonly to: string;
}

interface ToolReceipt {
  readonly receipt: string;
}

/** The pauses of a handler before and after its effect, so that a kill can fall between. */
export interface HandlerPace {
  pause(): Promise<void>;
  now(): number;
}

/** The longest duration of a call; a later effect is dropped. Stopped workers sleep less than the sum. */
const timeoutMs = 1_500;
const settleAfterMs = 5_000;

/** The longest time between a call and its effect. */
export const actsWithinMs = timeoutMs + settleAfterMs;

/** Returns the tools of a worker. Their names say what they promise. */
export function newChaosTools(effectLog: EffectLog, { pause, now }: HandlerPace): readonly Tool[] {
  const performEffect = async (name: string, to: string, key: string): Promise<string> => {
    const startedAt = now();
    await pause();
    if (now() - startedAt > actsWithinMs) throw new Error("the request was lost");
    const receipt = effectLog.append(name, to, key);
    await pause();
    return receipt;
  };
  const tool = (name: string, effect: Tool["effect"], more: object = {}): Tool =>
    defineTool({
      name,
      effect,
      input: cheapSchema<ToolInput>(),
      output: cheapSchema<ToolReceipt>(),
      timeoutMs,
      run: async ({ to }, { key }) => ({ receipt: await performEffect(name, to, key) }),
      ...more,
    });
  const verify = ({ input }: { readonly input: ToolInput }) => {
    const effect = effectLog.find("act.verifiable", input.to);
    return effect === undefined ? { saw: "absent" } : { saw: "happened", output: { receipt: effect.receipt } };
  };
  return [
    tool("ask", "reads"),
    tool("act.opaque", "acts"),
    tool("act.verifiable", "acts", { verify, settleAfter: settleAfterMs }),
    // The world deduplicates by key and repeats its answer.
    tool("act.keyed", "acts", {
      // Longer than the clock jumps.
      idempotent: { forMs: 86_400_000 },
      run: async ({ to }: ToolInput, { key }: ToolContext) => {
        await performEffect("act.keyed", to, key);
        return { receipt: key };
      },
    }),
    tool("plan", "reads", {
      run: async ({ to }: ToolInput, { errand }: ToolContext) => {
        errand("act.opaque", { to: `${to}.1` });
        return { receipt: await performEffect("plan", to, "") };
      },
    }),
    tool("act.announced", "acts", {
      run: async ({ to }: ToolInput, { key, notice }: ToolContext) => {
        notice("done", { to });
        return { receipt: await performEffect("act.announced", to, key) };
      },
    }),
  ];
}
