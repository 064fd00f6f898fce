import { govern } from "../../src/agents/govern.ts";
import { forAiSdk } from "../../src/ai-sdk/for-ai-sdk.ts";
import type { OpenRun } from "../../src/engine/api/open-run-api.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import type { Measurement } from "../measurement.ts";
import { median } from "../samples.ts";
import { withScratchFile } from "../scratch-file.ts";
import { benchPrincipal, openBenchEngine } from "../workload.ts";

const calls = 400;
const input = { q: "ana" } as const;

/** The functions of a tool that the AI SDK calls for each call. */
interface FrameworkTool {
  needsApproval(given: object, options: object): Promise<boolean>;
  execute(given: object, options: object): Promise<unknown>;
}

/** Measures what the adapter of the AI SDK adds to a call of an open run whose function the caller gives. */
export function aiSdkTime(id: string): Measurement {
  return {
    id,
    about: "what the adapter of the AI SDK adds to a call that reads, p50; both on disk, with their syncs",
    limitAbout: "the same call by `callTool`, on the same disk, p50",
    unit: "ms",
    goal: { of: "value", atMost: 0.2 },
    round: () =>
      withScratchFile(async (file) => {
        const engine = await openBenchEngine(openSqlite(file), "power", []);
        const effects = { search: "reads" } as const;
        const governed = await govern({ engine, session: "bench", principal: benchPrincipal, effects });
        const writ = forAiSdk(governed);
        const tools = writ.tools({ search: { execute: async (given: object) => given } });
        const tool = tools.search as unknown as FrameworkTool;
        const [adapted, direct] = await callTimes(tool, governed.run);
        await engine.close();
        return { value: adapted - direct, limit: direct, ratio: adapted / direct };
      }),
  };
}

/** Both ways take turns, and each is first half of the time: session, machine and disk are the same for both. */
async function callTimes(tool: FrameworkTool, run: OpenRun): Promise<readonly [number, number]> {
  const adapted: number[] = [];
  const direct: number[] = [];
  const messages = history();
  for (let call = 0; call < calls; call += 1) {
    const options = { toolCallId: `adapted-${call}`, messages };
    const adapt = async () => {
      const begun = performance.now();
      await tool.needsApproval(input, options);
      await tool.execute(input, options);
      adapted.push(performance.now() - begun);
    };
    if (call % 2 === 0) await adapt();
    const begun = performance.now();
    await run.callTool({ id: `direct-${call}`, tool: "search", input }, { run: (given) => given, keepHandler: true });
    direct.push(performance.now() - begun);
    if (call % 2 === 1) await adapt();
  }
  return [median(adapted.slice(calls / 4)), median(direct.slice(calls / 4))];
}

/** A chat of 20 answers, as the AI SDK passes it to a tool. */
function history(): readonly object[] {
  return Array.from({ length: 20 }, (_, at) => [
    { role: "user", content: `question ${at}` },
    { role: "assistant", content: [{ type: "text", text: `answer ${at}` }] },
  ]).flat();
}
