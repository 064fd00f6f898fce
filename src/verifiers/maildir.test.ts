import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Instant } from "../core/values/ids.ts";
import { type MaildirOptions, maildir } from "./maildir.ts";

const id = "<writ.1@example.org>";
const asked = { since: 0 as Instant, signal: new AbortController().signal };
const mail = (headers: string, body = "Hello.") => `${headers}\r\n\r\n${body}\r\n`;
const ours = mail(`From: a@example.org\r\nMessage-ID: ${id}\r\nSubject: hi`);
const another = mail("From: a@example.org\r\nMessage-ID: <other@example.org>");

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "writ-mail-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

/** A Maildir with these files, by their path in it. */
function mailbox(files: Readonly<Record<string, string>> = {}): string {
  const path = folder();
  for (const name of ["tmp", "new", "cur"]) mkdirSync(join(path, name));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const look = (path: string, options?: MaildirOptions) => maildir(path, options)(id, asked);

describe("a Maildir", () => {
  it.each(["new/1700.a", "cur/1700.a:2,S"])("finds a mail in %s by its Message-ID", async (name) => {
    const path = mailbox({ [name]: ours, "new/1699.b": another });
    expect(await look(path)).toEqual({ saw: "mail", where: join(path, name) });
  });

  it("finds nothing if every message was read and none has the id", async () => {
    expect(await look(mailbox())).toEqual({ saw: "nothing" });
    expect(await look(mailbox({ "new/1": another, "cur/2:2,": another }))).toEqual({ saw: "nothing" });
  });

  it.each([
    ["folded", `Subject: x\r\nMessage-ID:\r\n ${id}`],
    ["in other letters", `message-id: ${id}`],
    ["with plain line ends", `A: b\nMESSAGE-ID: ${id}`],
    ["beside another", `Message-ID: <other@example.org>\r\nMessage-ID: ${id}`],
  ])("recognises the header when it is written %s", async (_, headers) => {
    expect(await look(mailbox({ "new/1": mail(headers) }))).toMatchObject({ saw: "mail" });
  });

  it.each([
    ["the body", mail("A: b", `Message-ID: ${id}`)],
    ["a reply to it", mail(`Message-ID: <2@example.org>\r\nIn-Reply-To: ${id}\r\nReferences: ${id}`)],
    ["the folded subject", mail(`Subject: see\r\n Message-ID: ${id}`)],
    ["a longer id", mail("Message-ID: <writ.1@example.org.evil.example>")],
  ])("does not mistake %s for the mail", async (_, text) => {
    expect(await look(mailbox({ "new/1": text }))).toEqual({ saw: "nothing" });
  });

  it("reads headers up to its limit, and reports it", async () => {
    const path = mailbox({ "new/1": mail(`X: ${"x".repeat(5000)}\r\nMessage-ID: ${id}`) });
    expect(await look(path, { mostHeaderBytes: 1000 })).toMatchObject({ saw: "unknown" });
    expect(await look(path)).toMatchObject({ saw: "mail" });
  });

  it("reads messages up to its limit, the latest first", async () => {
    const path = mailbox({ "new/1": another, "new/2": another, "new/3": ours });
    expect(await look(path, { mostFiles: 1 })).toMatchObject({ saw: "mail" });
    const old = mailbox({ "new/1": ours, "new/2": another, "new/3": another });
    expect(await look(old, { mostFiles: 2 })).toMatchObject({ saw: "unknown" });
  });

  it("is unknown while the mail is being delivered", async () => {
    expect(await look(mailbox({ "tmp/1": ours }))).toMatchObject({ saw: "unknown" });
    expect(await look(mailbox({ "tmp/1": "From: a@example.org\r\nMess" }))).toMatchObject({ saw: "unknown" });
    expect(await look(mailbox({ "tmp/1": another }))).toEqual({ saw: "nothing" });
  });

  it("ignores an abandoned delivery", async () => {
    const path = mailbox({ "tmp/1": "From: a@exam" });
    const longAgo = Date.now() / 1000 - 3 * 24 * 60 * 60;
    utimesSync(join(path, "tmp/1"), longAgo, longAgo);
    expect(await look(path)).toEqual({ saw: "nothing" });
  });
});

describe("a mailbox that cannot be searched", () => {
  it("is unknown if it does not exist, is not a mailbox or is empty", async () => {
    expect(await maildir(join(folder(), "gone"))(id, asked).catch((error: Error) => error.message)).toMatch("ENOENT");
    expect(await look(folder())).toMatchObject({ saw: "unknown" });
  });

  it("is unknown if a message cannot be read, unless another message is the mail", async () => {
    const path = mailbox({ "new/1": another });
    symlinkSync(join(path, "new/1"), join(path, "new/2"));
    expect(await look(path)).toMatchObject({ saw: "unknown" });
    writeFileSync(join(path, "cur/3:2,"), ours);
    expect(await look(path)).toMatchObject({ saw: "mail" });
  });

  it("is not blocked by a pipe", async () => {
    const path = mailbox();
    execFileSync("mkfifo", [join(path, "new/1")]);
    expect(await look(path)).toMatchObject({ saw: "unknown" });
  });

  it("is not searched further after the signal aborts", async () => {
    const search = maildir(mailbox({ "new/1": ours }))(id, { ...asked, signal: AbortSignal.abort() });
    await expect(search).rejects.toThrow("aborted");
  });
});

describe("a folder of .eml files", () => {
  it("is searched in the same way, without its other files", async () => {
    const path = folder();
    writeFileSync(join(path, "1.eml"), another);
    writeFileSync(join(path, "notes.txt"), ours);
    chmodSync(join(path, "notes.txt"), 0);
    expect(await look(path)).toEqual({ saw: "nothing" });
    writeFileSync(join(path, "2.eml"), ours);
    expect(await look(path)).toEqual({ saw: "mail", where: join(path, "2.eml") });
  });
});
