import { govern } from "../../agents/govern.ts";
import { modelText } from "../../core/run/call-answer.ts";
import type { AdapterUnderTest } from "./adapter-under-test.ts";
import { type PlayedCall, playScript } from "./play-script.ts";

/** The reference of the contract: the calls of the script are proposed to the governed session directly. */
export const directCalls: AdapterUnderTest = {
  lacks: ["model"],
  open: async ({ engine, session, principal, tools, script }) => {
    const effects = Object.fromEntries(tools.map(({ name, effect }) => [name, effect]));
    const governed = await govern({ engine, session, principal, effects });
    governed.declare(tools.map(({ name, description, input }) => ({ name, description, checks: input })));
    const call = async (played: PlayedCall, signal?: AbortSignal) => {
      const own = tools.find(({ name }) => name === played.tool);
      const answer = await governed.call(
        played,
        (input, context) => own?.run(input, context.signal),
        signal === undefined ? {} : { signal },
      );
      return modelText(answer).text;
    };
    return {
      ask: (signal) => playScript(script, (played) => call(played, signal)),
      close: async () => {},
    };
  },
};
