import { isPlainObject } from "../core/json/plain-object.ts";
import { isSecretRef, type SecretRef } from "./secret-ref.ts";

/** The subject of a message: a waiting gate, an act in doubt, a budget, a parked run, or a notice of a tool. */
export type MessageKind = "gate" | "doubt" | "budget" | "parked" | "tool";

/** The kinds that concern people. */
export const personKinds = ["gate", "doubt", "budget", "parked"] as const;

const messageKinds: readonly unknown[] = [...personKinds, "tool"];

/** The messages that a recipient gets. */
export interface RecipientTerms {
  /** Default: all but notices of tools. */
  readonly kinds?: readonly MessageKind[];
  /** Only messages of this tenant. Default: of all tenants. */
  readonly tenant?: string;
}

/** A program that takes signed messages as JSON, in the form of the Standard Webhooks specification. */
export interface WebhookRecipient extends RecipientTerms {
  readonly webhook: string;
  /** `whsec_` and at least 24 bytes in base64. */
  readonly secret: SecretRef;
}

/** A channel of Slack, or of another program that takes its incoming webhooks. The address is a secret. */
export interface SlackRecipient extends RecipientTerms {
  readonly slack: SecretRef;
}

/** A mailbox. `smtp` is the address of the mail server, such as `smtps://user:password@mail.example.org`. */
export interface EmailRecipient extends RecipientTerms {
  readonly email: string;
  readonly from: string;
  readonly smtp: SecretRef;
}

export type Recipient = WebhookRecipient | SlackRecipient | EmailRecipient;

const fieldsOf: Readonly<Record<string, readonly string[]>> = {
  webhook: ["webhook", "secret", "kinds", "tenant"],
  slack: ["slack", "kinds", "tenant"],
  email: ["email", "from", "smtp", "kinds", "tenant"],
};

/** Returns the problems of settings that come from a config. */
export function notifyProblems({
  url,
  recipients,
}: {
  readonly url: unknown;
  readonly recipients: unknown;
}): readonly string[] {
  const address = addressProblem(url);
  if (!Array.isArray(recipients)) return ["recipients must be a list"];
  return [
    ...(address === null ? [] : [`url ${address}`]),
    ...recipients.flatMap((recipient, at) => {
      const problem = recipientProblem(recipient);
      return problem === null ? [] : [`recipient ${at + 1} ${problem}`];
    }),
  ];
}

/** Returns why a value is no recipient, or null. */
function recipientProblem(value: unknown): string | null {
  if (!isPlainObject(value)) return "is no object";
  const [way, ...others] = Object.keys(fieldsOf).filter((name) => name in value);
  if (way === undefined || others.length > 0) return "needs one of webhook, slack and email";
  const [unknown] = Object.keys(value).filter((name) => !fieldsOf[way]?.includes(name));
  if (unknown !== undefined) return `has a field ${unknown}; there are ${fieldsOf[way]?.join(", ")}`;
  const { kinds, tenant } = value;
  if (
    kinds !== undefined &&
    !(Array.isArray(kinds) && kinds.length > 0 && kinds.every((kind) => messageKinds.includes(kind)))
  )
    return `has kinds that are not of ${messageKinds.join(", ")}`;
  if (tenant !== undefined && (typeof tenant !== "string" || tenant === "")) return "has a tenant that is no text";
  return wayProblem(way, value);
}

function wayProblem(way: string, value: Readonly<Record<string, unknown>>): string | null {
  const secret = { webhook: value.secret, slack: value.slack, email: value.smtp }[way];
  const name = { webhook: "secret", slack: "slack", email: "smtp" }[way];
  if (!isSecretRef(secret)) return `must name where ${name} is: { env: "NAME" } or { file: "path" }`;
  if (way === "webhook") return addressProblem(value.webhook);
  if (way === "email" && !(isMailbox(value.email) && isMailbox(value.from)))
    return "needs email and from, such as ana@example.org";
  return null;
}

/** Returns why an address cannot receive messages, or null: other machines need TLS, and no address has a password. */
export function addressProblem(address: unknown): string | null {
  if (typeof address !== "string" || !URL.canParse(address)) return "has an address that is no URL";
  const { protocol, hostname, username, password } = new URL(address);
  if (username !== "" || password !== "") return "has a name or a password in its address";
  if (protocol === "https:" || (protocol === "http:" && isLoopback(hostname))) return null;
  return "has an address without https";
}

export function isLoopback(hostname: string): boolean {
  return ["127.0.0.1", "localhost", "[::1]"].includes(hostname);
}

/** One address without a display name, so that no header can be forged with it. */
function isMailbox(value: unknown): value is string {
  return typeof value === "string" && /^[^\s<>@,;:"()[\]\\]+@[^\s<>@,;:"()[\]\\]+$/.test(value);
}
