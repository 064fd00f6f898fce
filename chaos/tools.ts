import { shape } from "../crash/scenario.ts";
import type { Tool, ToolContext } from "../src/core/tool.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import type { Witness } from "./witness.ts";

interface Input {
  readonly to: string;
}

interface Output {
  readonly receipt: string;
}

/** What a handler waits for before and after it acts, so that a kill can come in between. */
export interface Pace {
  pause(): Promise<void>;
  now(): number;
}

/** How long a call can be under way at most; what stays longer is lost on the way. Zombies sleep less than this in sum. */
const timeoutMs = 1_500;
const settleAfterMs = 5_000;

/** The tools of all workers. Their names say what the world promises about them. */
export function toolsOf(witness: Witness, { pause, now }: Pace): readonly Tool[] {
  const did = async (name: string, to: string, key: string): Promise<string> => {
    const begun = now();
    await pause();
    if (now() - begun > timeoutMs + settleAfterMs) throw new Error("it was lost on the way");
    const receipt = witness.act(name, to, key);
    await pause();
    return receipt;
  };
  const tool = (name: string, effect: Tool["effect"], more: object = {}): Tool =>
    defineTool({
      name,
      effect,
      input: shape<Input>(),
      output: shape<Output>(),
      timeoutMs,
      run: async ({ to }, { key }) => ({ receipt: await did(name, to, key) }),
      ...more,
    });
  const found = ({ input }: { readonly input: Input }) => {
    const deed = witness.find("act.verifiable", input.to);
    return deed === undefined ? { saw: "absent" } : { saw: "happened", output: { receipt: deed.receipt } };
  };
  return [
    tool("ask", "reads"),
    tool("act.opaque", "acts"),
    tool("act.verifiable", "acts", { verify: found, settleAfter: settleAfterMs }),
    // The world knows the key again, and answers as it did then.
    tool("act.keyed", "acts", {
      idempotent: { forMs: 3_600_000 },
      run: async ({ to }: Input, { key }: ToolContext) => {
        await did("act.keyed", to, key);
        return { receipt: key };
      },
    }),
    tool("plan", "reads", {
      run: async ({ to }: Input, { errand }: ToolContext) => {
        errand("act.opaque", { to: `${to}.1` });
        return { receipt: await did("plan", to, "") };
      },
    }),
    tool("act.announced", "acts", {
      run: async ({ to }: Input, { key, notice }: ToolContext) => {
        notice("done", { to });
        return { receipt: await did("act.announced", to, key) };
      },
    }),
  ];
}
