import { FaultError, fault } from "../core/values/fault.ts";
import { messageLines } from "./person-message.ts";
import { postJson } from "./post-json.ts";
import { addressProblem } from "./recipient.ts";
import type { SendMessage } from "./recipient-queue.ts";

/** Sends messages to an incoming webhook of Slack. */
export function slack(address: string): SendMessage {
  const problem = addressProblem(address);
  if (problem !== null) throw new FaultError(fault("CONFIG_INVALID", `notify: the recipient of Slack ${problem}`));
  return (message) => {
    const { shown, more } = messageLines(message);
    const lines = shown.map(({ text, link }) => `${escaped(text)} <${escaped(link)}|open>`);
    const digest = message.items.length > 1 ? [`*${escaped(message.title)}*`] : [];
    const text = [...digest, ...lines, ...(more === null ? [] : [more])].join("\n");
    return postJson(address, JSON.stringify({ text, unfurl_links: false, unfurl_media: false }), {});
  };
}

/** Slack reads `<…>` as a link or as a mention of everyone in a channel. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
