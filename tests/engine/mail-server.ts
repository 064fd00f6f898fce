import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import { SMTPServer } from "smtp-server";
import { onTestFinished } from "vitest";

/** A real SMTP server on this machine that delivers into a real Maildir. */
export interface MailServer {
  readonly mailbox: string;
  /** The messages that arrived, whole. */
  mails(): readonly string[];
  send(mail: { readonly to: string; readonly text: string; readonly messageId: string }): Promise<void>;
  /** Called for a received message. By default the message is put into the mailbox and accepted. */
  onDelivery: (deliver: () => void) => Promise<void>;
}

export async function startMailServer(): Promise<MailServer> {
  const mailbox = mkdtempSync(join(tmpdir(), "writ-post-"));
  for (const folder of ["tmp", "new", "cur"]) mkdirSync(join(mailbox, folder));
  const office: MailServer = {
    mailbox,
    mails: () => readdirSync(join(mailbox, "new")).map((name) => readFileSync(join(mailbox, "new", name), "utf8")),
    send: async (mail) => {
      const post = createTransport({ host: "127.0.0.1", port, ignoreTLS: true });
      await post.sendMail({ from: "writ@example.org", subject: "Welcome", ...mail });
    },
    onDelivery: async (deliver) => deliver(),
  };
  const { server, port } = await listen(office);
  onTestFinished(async () => {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    rmSync(mailbox, { recursive: true });
  });
  return office;
}

async function listen(office: MailServer): Promise<{ readonly server: SMTPServer; readonly port: number }> {
  let delivered = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    closeTimeout: 1,
    onData: (stream, _session, answer) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const deliver = () => {
          delivered += 1;
          deliverToMaildir(office.mailbox, `${Date.now()}.${delivered}.here`, Buffer.concat(chunks));
        };
        office.onDelivery(deliver).then(
          () => answer(),
          (error: Error) => answer(error),
        );
      });
    },
  });
  server.on("error", () => {}); // A client that died in the middle is the story, not a failure of it.
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.server.address() as AddressInfo).port };
}

/** As a Maildir wants it: written whole under tmp, then moved. */
function deliverToMaildir(mailbox: string, name: string, message: Buffer): void {
  writeFileSync(join(mailbox, "tmp", name), message);
  renameSync(join(mailbox, "tmp", name), join(mailbox, "new", name));
}
