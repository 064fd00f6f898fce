import { describe, expect, it } from "vitest";
import { FaultError } from "../core/values/fault.ts";
import type { EffectKey, Instant } from "../core/values/ids.ts";
import { type MailSearch, messageIdFor, seenByMessageId } from "./seen-by-message-id.ts";

const key = "ab".repeat(32) as EffectKey;
const probe = { key, since: 0 as Instant, signal: new AbortController().signal };

describe("a Message-ID made from a key", () => {
  it("is the same for the same act, in any case of the domain", () => {
    expect(messageIdFor(key, "Mail.Example.org")).toBe(`<writ.${key}@mail.example.org>`);
  });

  it.each(["", "example.org>\r\nBcc: <eve@evil.example", "-a.org", "a..b", "a b"])(
    "refuses the domain %j",
    (domain) => {
      expect(() => messageIdFor(key, domain)).toThrow(FaultError);
    },
  );

  it.each(["", "short", "AB".repeat(32)])("refuses %j, which is not a key", (other) => {
    expect(() => messageIdFor(other, "example.org")).toThrow("declare the tool with the effect acts");
  });
});

describe("the verifier for a Message-ID", () => {
  const verifying = (search: MailSearch) => seenByMessageId({ search, domain: "example.org" })(probe);

  it("returns happened if the search finds the mail", async () => {
    const asked: string[] = [];
    const seen = await verifying(async (id) => {
      asked.push(id);
      return { saw: "mail", where: "Sent" };
    });
    expect(asked).toEqual([messageIdFor(key, "example.org")]);
    expect(seen).toEqual({ saw: "happened", output: { message_id: messageIdFor(key, "example.org") } });
  });

  it("returns the output of its tool", async () => {
    const search: MailSearch = async () => ({ saw: "mail", where: "Sent/17" });
    const verify = seenByMessageId({ search, domain: "example.org", output: ({ where }) => ({ id: where }) });
    expect(await verify(probe)).toEqual({ saw: "happened", output: { id: "Sent/17" } });
  });

  it("returns absent after a complete search", async () => {
    expect(await verifying(async () => ({ saw: "nothing" }))).toEqual({ saw: "absent" });
  });

  it("returns unknown if the search is incomplete, throws or is aborted", async () => {
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
