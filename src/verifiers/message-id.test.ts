import { describe, expect, it } from "vitest";
import { FaultError } from "../core/fault.ts";
import type { EffectKey, Instant } from "../core/id.ts";
import { type MailSearch, messageIdFor, seenByMessageId } from "./message-id.ts";

const key = "ab".repeat(32) as EffectKey;
const probe = { key, since: 0 as Instant, signal: new AbortController().signal };

describe("a Message-ID made from a key", () => {
  it("is the same for the same act, whatever the case of the domain", () => {
    expect(messageIdFor(key, "Mail.Example.org")).toBe(`<writ.${key}@mail.example.org>`);
  });

  it.each(["", "example.org>\r\nBcc: <eve@evil.example", "-a.org", "a..b", "a b"])(
    "refuses the domain %j",
    (domain) => {
      expect(() => messageIdFor(key, domain)).toThrow(FaultError);
    },
  );

  it.each(["", "short", "AB".repeat(32)])("refuses %j, which no act has for a key", (other) => {
    expect(() => messageIdFor(other, "example.org")).toThrow("declare the tool as acts");
  });
});

describe("a mail is looked for by its Message-ID", () => {
  const verifying = (search: MailSearch) => seenByMessageId({ search, domain: "example.org" })(probe);

  it("and has happened when the search finds it", async () => {
    const asked: string[] = [];
    const seen = await verifying(async (id) => {
      asked.push(id);
      return { saw: "mail", where: "Sent" };
    });
    expect(asked).toEqual([messageIdFor(key, "example.org")]);
    expect(seen).toEqual({ saw: "happened", output: { message_id: messageIdFor(key, "example.org") } });
  });

  it("and is told in the words of its tool", async () => {
    const search: MailSearch = async () => ({ saw: "mail", where: "Sent/17" });
    const verify = seenByMessageId({ search, domain: "example.org", output: ({ where }) => ({ id: where }) });
    expect(await verify(probe)).toEqual({ saw: "happened", output: { id: "Sent/17" } });
  });

  it("and is absent when the whole place was searched", async () => {
    expect(await verifying(async () => ({ saw: "nothing" }))).toEqual({ saw: "absent" });
  });

  it("and is unknown when the search cannot tell, throws, or was stopped on the way", async () => {
    expect(await verifying(async () => ({ saw: "unknown", why: "the server is away" }))).toEqual({
      saw: "unknown",
      why: "the server is away",
    });
    expect(await verifying(async () => Promise.reject(new Error("no route")))).toEqual({
      saw: "unknown",
      why: "no route",
    });
    const stopped = seenByMessageId({ search: async () => ({ saw: "nothing" }), domain: "example.org" });
    expect(await stopped({ ...probe, signal: AbortSignal.abort() })).toMatchObject({ saw: "unknown" });
  });
});
