import { createHash } from "node:crypto";
import type { DeliveredNotice } from "../engine/api/delivered-notice.ts";
import { pagePaths } from "../http-api/page-paths.ts";
import type { MessageKind } from "./recipient.ts";

/** One fact that a message reports. Its id stays the same if it is sent again. */
export interface MessageItem {
  readonly id: string;
  readonly kind: MessageKind;
  readonly topic: string;
  readonly tenant: string;
  readonly run_id: string;
  readonly text: string;
  /** The page of the gate, the act or the run. */
  readonly link: string;
  readonly data: unknown;
}

/** A message to one recipient: one item, or a digest of several. */
export interface PersonMessage {
  readonly id: string;
  readonly title: string;
  readonly items: readonly MessageItem[];
}

const kindOfTopic: Readonly<Record<string, MessageKind>> = {
  "gate.opened": "gate",
  "gate.escalated": "gate",
  "step.doubted": "doubt",
  "budget.alerted": "budget",
  "run.parked": "parked",
  "run.poisoned": "parked",
};

/** Returns the item of a notice. A tool chooses the topic of its notices, so the id tells them from those of the engine. */
export function messageItem(notice: DeliveredNotice, url: string): MessageItem {
  const { notice_id, topic, payload, tenant, run_id } = notice;
  const isOwn = notice_id.includes("_!");
  const kind = (isOwn ? kindOfTopic[topic] : undefined) ?? "tool";
  const facts = (typeof payload === "object" && payload !== null ? payload : {}) as Readonly<Record<string, unknown>>;
  const path = isOwn ? pathOf(kind, run_id, facts) : pagePaths.run(run_id);
  return {
    id: notice_id,
    kind,
    topic,
    tenant,
    run_id,
    text: textOf(kind, topic, run_id, facts),
    link: `${url.replace(/\/$/, "")}${path}`,
    data: payload,
  };
}

function pathOf(kind: MessageKind, run_id: string, { gate_id, step_id }: Readonly<Record<string, unknown>>): string {
  if (kind === "gate" && typeof gate_id === "string") return pagePaths.gate(gate_id);
  if (kind === "doubt" && typeof step_id === "string") return pagePaths.step(run_id, step_id);
  return pagePaths.run(run_id);
}

function textOf(kind: MessageKind, topic: string, run_id: string, facts: Readonly<Record<string, unknown>>): string {
  const shown = (name: string) => plainText(facts[name]);
  switch (kind) {
    case "gate":
      return `${topic === "gate.escalated" ? "Still waiting" : "Waiting"} for approval: ${shown("tool")} (${shown("reason")})`;
    case "doubt":
      return `In doubt: ${shown("tool")} of step ${shown("step_id")}. ${
        facts.settles_itself === true ? "Writ tries to settle it." : "A person must settle it."
      }`;
    case "budget":
      return `${shown("level")} % of a budget are used: ${shown("used")} of ${shown("limit")} (${shown("unit")} per ${shown("per")})`;
    case "parked":
      return topic === "run.poisoned"
        ? `Parked: run ${run_id} stopped its workers several times`
        : `Parked: run ${run_id} waits for a worker with its rules`;
    case "tool":
      return `Notice of a tool: ${plainText(topic)}`;
  }
}

const TEXT_MAX = 300;

/** Returns text in one line, without characters that hide or reorder others. */
function plainText(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return plain.length > TEXT_MAX ? `${plain.slice(0, TEXT_MAX)}…` : plain;
}

/** Makes the message with these items. The same items make a message with the same id. */
export function personMessage(items: readonly MessageItem[]): PersonMessage {
  const [first] = items;
  const title = items.length === 1 && first !== undefined ? first.text : `${items.length} things need attention`;
  return { id: messageId(items), title, items };
}

function messageId(items: readonly MessageItem[]): string {
  const hash = createHash("sha256").update(JSON.stringify(items.map(({ id }) => id).sort()));
  return `msg_${hash.digest("hex").slice(0, 32)}`;
}

const LINES_MAX = 20;

/** Returns the items as lines of text and a link, and how many more there are. */
export function messageLines({ items }: PersonMessage): {
  readonly shown: readonly MessageItem[];
  readonly more: string | null;
} {
  const rest = items.length - LINES_MAX;
  return { shown: items.slice(0, LINES_MAX), more: rest > 0 ? `and ${rest} more` : null };
}
