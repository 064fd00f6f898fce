// A loop over a model, as a user writes it with one of the SDKs. The arguments: the SDK, the folder, the origin of the
// model, the append of the store at which the process is killed (0: none), and whether before or after it.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { govern } from "../../dist/agents.js";
import { forAiSdk } from "../../dist/ai-sdk.js";
import { forAnthropic } from "../../dist/anthropic.js";
import { agent, createEngine } from "../../dist/index.js";
import { forOpenAI } from "../../dist/openai.js";
import { sqlite } from "../../dist/sqlite.js";

const [, , sdk, folder, origin, nth, moment] = process.argv;
const log = (line) => appendFileSync(join(folder, "world"), `${line}\n`);

let appends = 0;
const real = await sqlite(join(folder, "writ.db"));
const die = (when) => {
  if (moment === when && appends === Number(nth)) process.kill(process.pid, "SIGKILL");
};
const append = async (entries) => {
  appends += 1;
  die("before");
  const landed = await real.append(entries);
  die("after");
  return landed;
};

const engine = await createEngine({
  store: { ...real, append },
  tools: [],
  tenants: { shop: { mode: "auto_exec" } },
});
const effects = { search: "reads", send: "acts" };
const governed = await govern({ engine, session: "chat", principal: agent("bot", "shop"), effects });
const search = async () => "found";
const send = async ({ to }) => {
  log(`send ${to}`);
  return "sent";
};
/** The answers that the program has asked for and not received to the end yet are asked for again; no others are. */
const recorded = (fetch) => async (target, init) => {
  log("ask");
  const answer = await fetch(target, init);
  const told = new TransformStream({ flush: () => log("told") });
  return new Response(answer.body.pipeThrough(told), answer);
};

async function aiSdkOptions() {
  const { jsonSchema, stepCountIs, tool } = await import("ai");
  const { createOpenAI } = await import("@ai-sdk/openai");
  const writ = forAiSdk(governed);
  const openai = createOpenAI({ baseURL: `${origin}/v1`, apiKey: "none", fetch: recorded(writ.fetch()) });
  const inputSchema = jsonSchema({ type: "object" });
  const tools = writ.tools({
    search: tool({ inputSchema, execute: search }),
    send: tool({ inputSchema, execute: send }),
  });
  const messages = [{ role: "user", content: "write" }];
  return { model: openai.chat("gpt"), tools, maxRetries: 0, stopWhen: stepCountIs(9), messages };
}

const programs = {
  openai: async () => {
    const { default: OpenAI } = await import("openai");
    const writ = forOpenAI(governed, { search, send });
    const client = new OpenAI({
      baseURL: `${origin}/v1`,
      apiKey: "none",
      maxRetries: 0,
      fetch: recorded(writ.fetch()),
    });
    const messages = [{ role: "user", content: "write" }];
    for (;;) {
      const { choices } = await client.chat.completions.create({ model: "gpt", messages });
      messages.push(choices[0].message);
      const results = await writ.results(choices[0].message);
      if (results.length === 0) return choices[0].message.content;
      messages.push(...results);
    }
  },
  anthropic: async () => {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    const writ = forAnthropic(governed, { search, send });
    const client = new Anthropic({ baseURL: origin, apiKey: "none", maxRetries: 0, fetch: recorded(writ.fetch()) });
    const messages = [{ role: "user", content: "write" }];
    for (;;) {
      const message = await client.messages.create({ model: "claude", max_tokens: 100, messages });
      messages.push({ role: "assistant", content: message.content });
      const results = await writ.results(message);
      if (results.length === 0) return message.content[0].text;
      messages.push(...results);
    }
  },
  "ai-sdk": async () => {
    const { generateText } = await import("ai");
    return (await generateText(await aiSdkOptions())).text;
  },
  "ai-sdk-stream": async () => {
    const { streamText } = await import("ai");
    return streamText(await aiSdkOptions()).text;
  },
};

const text = await programs[sdk]();
process.stdout.write(JSON.stringify({ text, appends }));
process.exit(0);
