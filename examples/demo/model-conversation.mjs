// A conversation with a model, through the adapters of Writ for the SDKs of OpenAI and Anthropic.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { forAnthropic } from "writ/anthropic";
import { forOpenAI } from "writ/openai";

/** A model that never ends would cost money for ever. */
const maxAnswers = 12;

/** Returns a function that asks the model, makes its calls, and returns its last answer as text. */
export async function startConversation(model, governed, terms) {
  return model.kind === "anthropic" ? anthropicLoop(model, governed, terms) : openAiLoop(model, governed, terms);
}

function openAiLoop({ name, url, key }, governed, { functions, descriptions, system, question }) {
  const writ = forOpenAI(governed, functions);
  const client = new OpenAI({ fetch: writ.fetch(), ...(url && { baseURL: url }), ...(key && { apiKey: key }) });
  const tools = descriptions.map((described) => ({ type: "function", function: described }));
  const messages = [
    { role: "system", content: system },
    { role: "user", content: question },
  ];
  return async () => {
    for (let count = 0; count < maxAnswers; count += 1) {
      const { choices } = await client.chat.completions.create({ model: name, messages, tools });
      messages.push(choices[0].message);
      const results = await writ.results(choices[0].message);
      if (results.length === 0) return choices[0].message.content ?? "";
      messages.push(...results);
    }
    throw new Error(`the model gave ${maxAnswers} answers and no last one`);
  };
}

function anthropicLoop({ name, url, key }, governed, { functions, descriptions, system, question }) {
  const writ = forAnthropic(governed, functions);
  const client = new Anthropic({ fetch: writ.fetch(), ...(url && { baseURL: url }), ...(key && { apiKey: key }) });
  const tools = descriptions.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters }));
  const messages = [{ role: "user", content: question }];
  return async () => {
    for (let count = 0; count < maxAnswers; count += 1) {
      const message = await client.messages.create({ model: name, max_tokens: 1024, system, messages, tools });
      messages.push({ role: "assistant", content: message.content });
      const results = await writ.results(message);
      if (results.length === 0)
        return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
      messages.push(...results);
    }
    throw new Error(`the model gave ${maxAnswers} answers and no last one`);
  };
}
