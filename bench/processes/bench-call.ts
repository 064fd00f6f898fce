import { z } from "zod";
import type { Tool } from "../../src/core/tool/tool.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { machineTime } from "./process-role.ts";

/** A tool that returns the time at which it is called, or, if its input says so, never returns. */
export const benchCall: Tool = defineTool({
  name: "bench.call",
  effect: "reads",
  input: z.object({ hang: z.boolean() }),
  output: z.object({ at: z.number() }),
  run: async ({ hang }) => {
    const at = machineTime();
    if (hang) await new Promise(() => {});
    return { at };
  },
});

export function benchCallPlan(hang: boolean): object {
  return { steps: [{ step_id: "call", name: "bench.call", payload: { hang } }] };
}
