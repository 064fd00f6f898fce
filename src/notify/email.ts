import { createRequire } from "node:module";
import { FaultError, fault } from "../core/values/fault.ts";
import { peerProblem } from "../core/values/peer-package.ts";
import { messageLines } from "./person-message.ts";
import { isUnconnected } from "./post-json.ts";
import { isLoopback } from "./recipient.ts";
import { RefusedMessage, type SendMessage } from "./recipient-queue.ts";

const SEND_MS = 10_000;

/** The part of `nodemailer` that is used. It is an optional peer dependency, because few programs send mails. */
interface Mailer {
  createTransport(settings: object): { sendMail(mail: object): Promise<unknown> };
}

/** Sends messages as mails. The connection is encrypted unless the mail server is on this machine. */
export async function email(to: string, from: string, smtp: string): Promise<SendMessage> {
  if (!URL.canParse(smtp) || !/^smtps?:$/.test(new URL(smtp).protocol))
    throw new FaultError(
      fault("CONFIG_INVALID", `notify: the mail server of ${to} is no address that begins with smtp: or smtps:`),
    );
  const { hostname, protocol, port, username, password } = new URL(smtp);
  const { createTransport } = await importMailer();
  const transport = createTransport({
    host: hostname,
    port: port === "" ? (protocol === "smtps:" ? 465 : 587) : Number(port),
    secure: protocol === "smtps:",
    requireTLS: protocol === "smtp:" && !isLoopback(hostname),
    ...(username !== "" && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: SEND_MS,
    greetingTimeout: SEND_MS,
    socketTimeout: SEND_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.split("@")[1] ?? "";
  return async (message) => {
    const { shown, more } = messageLines(message);
    const lines = shown.map(({ text, link, id }) => `${text}\n${link}\n(${id})`);
    const mail = {
      to,
      from,
      subject: `Writ: ${message.title}`,
      text: `${[...lines, ...(more === null ? [] : [more])].join("\n\n")}\n`,
      messageId: `<${message.id}@${domain}>`,
      headers: { "Auto-Submitted": "auto-generated" },
    };
    await transport.sendMail(mail).catch((error: unknown) => {
      const text = `${hostname} did not take the mail (${error instanceof Error ? error.message : String(error)})`;
      throw isRefused(error) ? new RefusedMessage(text) : new Error(text);
    });
  };
}

/** The mail server answered that it does not take the mail, or there was no connection. */
function isRefused(error: unknown): boolean {
  const isAnswered = error instanceof Error && "responseCode" in error && Number(error.responseCode) >= 400;
  return isAnswered || isUnconnected(error);
}

async function importMailer(): Promise<Mailer> {
  const version = mailerVersion();
  const problem = peerProblem({ name: "nodemailer", tested: ["10"] }, version, "e-mail of notify");
  if (problem !== null) throw new FaultError(fault("CONFIG_INVALID", problem));
  return (await import("nodemailer")) as unknown as Mailer;
}

function mailerVersion(): string | null {
  try {
    return (createRequire(import.meta.url)("nodemailer/package.json") as { readonly version: string }).version;
  } catch {
    return null;
  }
}
