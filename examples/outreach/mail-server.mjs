// A real SMTP server on loopback that delivers into a maildir, and the nodemailer transport that talks to it.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";

/** Starts the server. Calls `onMail` for each delivered mail before it answers the sender. */
export async function startMailServer(maildir, onMail) {
  for (const folder of ["new", "cur", "tmp"]) mkdirSync(join(maildir, folder), { recursive: true });
  let count = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    logger: false,
    onData(stream, _session, answer) {
      const chunks = [];
      stream.on("data", (chunk) => chunks.push(chunk));
      stream.on("end", async () => {
        count += 1;
        const name = `${Date.now()}.${process.pid}_${count}.localhost`;
        writeFileSync(join(maildir, "tmp", name), Buffer.concat(chunks));
        renameSync(join(maildir, "tmp", name), join(maildir, "new", name));
        await onMail();
        answer();
      });
    },
  });
  server.on("error", () => {}); // The demo kills the sender in the middle.
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: server.server.address().port, close: () => new Promise((resolve) => server.close(resolve)) };
}

/** The mails in the mailbox, oldest first. */
export function mailsIn(maildir) {
  const files = readdirSync(join(maildir, "new")).sort();
  return files.map((name) => {
    const [head, ...rest] = readFileSync(join(maildir, "new", name), "utf8").split(/\r?\n\r?\n/);
    const lines = head.replaceAll(/\r?\n[ \t]+/g, " ");
    const header = (field) => new RegExp(`^${field}: *(.*)$`, "im").exec(lines)?.[1]?.trim() ?? "";
    return {
      from: header("From"),
      to: header("To"),
      subject: header("Subject"),
      message_id: header("Message-ID"),
      received_at: Number(name.split(".")[0]),
      body: rest.join("\n\n").trim(),
    };
  });
}
