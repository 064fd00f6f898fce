import type { CallDecision } from "../agents/governed.ts";

/** A part of a message of the AI SDK, as far as the adapter reads it. */
interface MessagePart {
  readonly type?: unknown;
  readonly toolCallId?: unknown;
  readonly approvalId?: unknown;
  readonly approved?: unknown;
  readonly reason?: unknown;
  readonly state?: unknown;
  readonly input?: unknown;
  readonly approval?: unknown;
}

interface Message {
  readonly role: unknown;
  readonly parts: readonly MessagePart[];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Reads messages of a model (`content`) or of a chat (`parts`). Other values have no parts. */
function readMessages(messages: unknown): readonly Message[] {
  if (!Array.isArray(messages)) return [];
  return messages.filter(isRecord).map(({ role, content, parts }) => {
    const list = Array.isArray(parts) ? parts : content;
    return { role, parts: Array.isArray(list) ? list.filter(isRecord) : [] };
  });
}

/**
 * Returns the number of the model's answers before the one that contains the call. The messages end with that answer if
 * the call waited for an approval, and end before it if the answer has just come.
 */
export function turnOf(messages: unknown, toolCallId: string): number {
  const read = readMessages(messages);
  const hasPart = (message: Message, type: string) =>
    message.parts.some((part) => part.type === type && part.toolCallId === toolCallId);
  const called = read.findLastIndex((message) => message.role === "assistant" && hasPart(message, "tool-call"));
  const isOver = read.slice(called + 1).some((message) => hasPart(message, "tool-result"));
  const before = called === -1 || isOver ? read : read.slice(0, called);
  return before.filter(({ role }) => role === "assistant").length;
}

/** True if the messages contain a request for the approval of this call: it was held before. */
export function hasApprovalRequest(messages: unknown, toolCallId: string): boolean {
  return requestsIn(readMessages(messages)).some((part) => part.toolCallId === toolCallId);
}

/** True if the client reports that the call was approved. */
export function isReportedApproved(messages: unknown, toolCallId: string): boolean {
  return readDecisions(messages).some(({ id, approved }) => id === toolCallId && approved);
}

function requestsIn(messages: readonly Message[]): readonly MessagePart[] {
  return messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool-approval-request"));
}

/**
 * Returns the decisions in messages of a model or of a chat, or in one tool part of a chat. A response whose call has a
 * result was used before and is left out.
 */
export function readDecisions(responses: unknown): readonly CallDecision[] {
  if (!Array.isArray(responses)) return isRecord(responses) ? chatDecisions([responses]) : [];
  const messages = readMessages(responses);
  return [...modelDecisions(messages), ...chatDecisions(messages.flatMap(({ parts }) => parts))];
}

function modelDecisions(messages: readonly Message[]): readonly CallDecision[] {
  const parts = messages.flatMap((message) => message.parts);
  const ended = new Set(parts.filter(({ type }) => type === "tool-result").map(({ toolCallId }) => toolCallId));
  const asked = new Map(requestsIn(messages).map(({ approvalId, toolCallId }) => [approvalId, toolCallId]));
  const inputs = new Map(parts.filter(({ type }) => type === "tool-call").map((part) => [part.toolCallId, part.input]));
  return parts
    .filter(({ type }) => type === "tool-approval-response")
    .flatMap(({ approvalId, approved, reason }) => {
      const id = asked.get(approvalId);
      return typeof id !== "string" || ended.has(id) ? [] : [decision(id, approved, reason, inputs.get(id))];
    });
}

/** A tool part of a chat carries the response of the person until the tool has run. */
function chatDecisions(parts: readonly MessagePart[]): readonly CallDecision[] {
  return parts.flatMap(({ state, toolCallId, approval, input }) => {
    if (state !== "approval-responded" || typeof toolCallId !== "string" || !isRecord(approval)) return [];
    return [decision(toolCallId, approval.approved, approval.reason, input)];
  });
}

function decision(id: string, approved: unknown, reason: unknown, input: unknown): CallDecision {
  return {
    id,
    approved: approved === true,
    ...(typeof reason === "string" && { reason }),
    ...(input !== undefined && { input }),
  };
}
