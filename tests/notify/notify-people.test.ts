import { createHmac } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import type { DeliveredNotice } from "../../src/engine/api/delivered-notice.ts";
import { type NotifyOptions, notifyPeople } from "../../src/notify/notify-people.ts";
import type { Recipient } from "../../src/notify/recipient.ts";
import { fakeClock } from "../../src/testing/fake-clock.ts";
import { manualTimers } from "../../src/testing/manual-timers.ts";
import { type ReceivedPost, startMailSink, startWebSink } from "./message-sinks.ts";

const key = Buffer.alloc(32, 7);
const env = { HOOK: `whsec_${key.toString("base64")}` };
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function webSink(answer?: (post: ReceivedPost) => number) {
  const sink = await startWebSink(answer);
  closing.push(sink.close);
  return sink;
}

/** Notifies recipients on a clock that the test advances. */
async function notifying(recipients: readonly Recipient[], more: Partial<NotifyOptions> = {}) {
  const clock = fakeClock();
  const timers = manualTimers(clock);
  const problems: string[] = [];
  const tell = await notifyPeople({
    url: "https://writ.example.org/",
    recipients,
    env,
    now: () => clock.now(),
    timers,
    onProblem: (message) => problems.push(message),
    ...more,
  });
  /** Advances the clock, and waits for what the network brings. */
  const advanceUntil = async (ms: number, done: () => boolean) => {
    await timers.pass(ms);
    await expect.poll(done).toBe(true);
  };
  return { tell, problems, clock, timers, advanceUntil };
}

const gateNotice = (number: number, more: Partial<DeliveredNotice> = {}): DeliveredNotice => ({
  notice_id: `ntc_1_!gate_${number}`,
  topic: "gate.opened",
  payload: { run_id: "run_1", gate_id: `gate_${number}`, step_id: "send", tool: "mail.send", reason: "it acts" },
  run_id: "run_1" as RunId,
  tenant: "acme" as Tenant,
  ...more,
});

interface Message {
  readonly id: string;
  readonly items: readonly {
    readonly id: string;
    readonly kind: string;
    readonly text: string;
    readonly link: string;
  }[];
}
const messagesOf = (posts: readonly ReceivedPost[]) => posts.map(({ body }) => JSON.parse(body) as Message);

describe("a webhook", () => {
  it("gets a signed message with a stable id and the link to the gate", async () => {
    const sink = await webSink();
    const { tell, clock } = await notifying([{ webhook: `${sink.url}/writ`, secret: { env: "HOOK" } }]);
    await tell(gateNotice(1));
    const [post] = sink.posts;
    const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signature } = post?.headers ?? {};
    const signed = createHmac("sha256", key).update(`${id}.${time}.${post?.body}`).digest("base64");
    expect([signature, time]).toEqual([`v1,${signed}`, String(Math.floor(clock.now() / 1000))]);
    expect(messagesOf(sink.posts)).toMatchObject([
      { id, items: [{ id: "ntc_1_!gate_1", kind: "gate", link: "https://writ.example.org/gates/gate_1" }] },
    ]);
    await tell(gateNotice(1));
    expect(sink.posts).toHaveLength(1);
  });

  it("gets one message per minute, and a digest of what happened meanwhile", async () => {
    const sink = await webSink();
    const { tell, timers, advanceUntil } = await notifying([{ webhook: sink.url, secret: { env: "HOOK" } }]);
    await tell(gateNotice(1));
    for (const number of [2, 3, 4]) await expect(tell(gateNotice(number))).rejects.toThrow("not been told");
    await timers.pass(59_999);
    expect(sink.posts).toHaveLength(1);
    await advanceUntil(1, () => sink.posts.length === 2);
    expect(messagesOf(sink.posts)[1]?.items.map(({ id }) => id)).toEqual([2, 3, 4].map((n) => `ntc_1_!gate_${n}`));
    // The engine offers them again, and they are delivered.
    await expect
      .poll(() => Promise.all([2, 3, 4].map((number) => tell(gateNotice(number)))).then(() => true))
      .toBe(true);
    expect(sink.posts).toHaveLength(2);
  });

  it("is tried again soon after a refusal, with the same id", async () => {
    let status = 503;
    const sink = await webSink(() => status);
    const { tell, problems, advanceUntil } = await notifying([{ webhook: sink.url, secret: { env: "HOOK" } }]);
    await expect(tell(gateNotice(1))).rejects.toThrow();
    expect(problems).toEqual([expect.stringContaining("answered 503")]);
    await advanceUntil(1000, () => problems.length === 2);
    status = 200;
    await advanceUntil(2000, () => sink.posts.length === 3);
    await expect.poll(() => tell(gateNotice(1)).then(() => true)).toBe(true);
    expect(new Set(messagesOf(sink.posts).map(({ id }) => id)).size).toBe(1);
  });

  it("is not led elsewhere by a redirect", async () => {
    const sink = await webSink(() => 307);
    const { tell, problems } = await notifying([{ webhook: sink.url, secret: { env: "HOOK" } }]);
    await expect(tell(gateNotice(1))).rejects.toThrow();
    expect(problems).toEqual([expect.stringContaining("answered 307")]);
  });

  it("is not told again of what it was told while another recipient fails", async () => {
    const sink = await webSink();
    const broken = await webSink(() => 500);
    const { tell } = await notifying([
      { webhook: sink.url, secret: { env: "HOOK" } },
      { webhook: broken.url, secret: { env: "HOOK" } },
    ]);
    for (let offer = 0; offer < 3; offer += 1) await expect(tell(gateNotice(1))).rejects.toThrow();
    expect(sink.posts).toHaveLength(1);
  });
});

describe("a recipient", () => {
  it("gets the messages of its tenant and its kinds only", async () => {
    const sink = await webSink();
    const { tell } = await notifying([
      { webhook: `${sink.url}/other`, secret: { env: "HOOK" }, tenant: "other" },
      { webhook: `${sink.url}/doubts`, secret: { env: "HOOK" }, kinds: ["doubt"] },
      { webhook: `${sink.url}/acme`, secret: { env: "HOOK" }, tenant: "acme" },
    ]);
    await tell(gateNotice(1));
    expect(sink.posts.map(({ path }) => path)).toEqual(["/acme"]);
  });

  it("gets no message about a gate from a tool that names its notice so", async () => {
    const sink = await webSink();
    const { tell } = await notifying([
      { webhook: `${sink.url}/people`, secret: { env: "HOOK" } },
      { webhook: `${sink.url}/tools`, secret: { env: "HOOK" }, kinds: ["tool"] },
    ]);
    await tell(gateNotice(1, { notice_id: "ntc_1_send_1" }));
    expect(sink.posts.map(({ path }) => path)).toEqual(["/tools"]);
    expect(messagesOf(sink.posts)[0]?.items[0]).toMatchObject({
      kind: "tool",
      link: "https://writ.example.org/runs/run_1",
    });
  });

  it.each([
    ["step.doubted", "ntc_1_!doubt_send_1", { step_id: "send", tool: "pay" }, "doubt", "/runs/run_1?step=send"],
    [
      "budget.alerted",
      "ntc_1_!budget_3",
      { level: 80, used: 8, limit: 10, unit: "usd", per: "day" },
      "budget",
      "/runs/run_1",
    ],
    ["run.parked", "ntc_1_!rules_3", {}, "parked", "/runs/run_1"],
    ["run.poisoned", "ntc_1_!poison_3", { takeovers: 3 }, "parked", "/runs/run_1"],
    ["gate.escalated", "ntc_1_!gate_3", { gate_id: "gate_1", tool: "pay", reason: "r" }, "gate", "/gates/gate_1"],
  ])("gets a message about %s", async (topic, notice_id, payload, kind, path) => {
    const sink = await webSink();
    const { tell } = await notifying([{ webhook: sink.url, secret: { env: "HOOK" } }]);
    await tell(gateNotice(1, { topic, notice_id, payload }));
    expect(messagesOf(sink.posts)[0]?.items[0]).toMatchObject({ kind, link: `https://writ.example.org${path}` });
    expect(messagesOf(sink.posts)[0]?.items[0]?.text).not.toContain("undefined");
  });
});

describe("a Slack channel", () => {
  it("gets one line with its link, and a reason cannot mention everyone", async () => {
    const sink = await webSink();
    const { tell } = await notifying([{ slack: { env: "SLACK" } }], { env: { SLACK: `${sink.url}/services/T/B/x` } });
    const payload = {
      gate_id: "gate_1",
      tool: "mail.send",
      reason: "see <!channel> & <http://evil|here>\u202e\nsecond",
    };
    await tell(gateNotice(1, { payload }));
    const { text } = JSON.parse(sink.posts[0]?.body ?? "{}") as { readonly text: string };
    expect(text).toBe(
      "Waiting for approval: mail.send (see &lt;!channel&gt; &amp; &lt;http://evil|here&gt; second) <https://writ.example.org/gates/gate_1|open>",
    );
  });
});

describe("a mailbox", () => {
  it("gets a mail with the link and a stable Message-ID, and no text can add a header", async () => {
    const sink = await startMailSink();
    closing.push(sink.close);
    const { tell } = await notifying([{ email: "ana@example.org", from: "writ@example.org", smtp: { env: "SMTP" } }], {
      env: { SMTP: sink.url },
    });
    await tell(
      gateNotice(1, { payload: { gate_id: "gate_1", tool: "mail.send\r\nBcc: eve@example.org", reason: "é" } }),
    );
    const [mail = ""] = sink.mails;
    expect(mail).toMatch(/^Message-ID: <msg_[0-9a-f]{32}@example\.org>\r?$/im);
    expect(mail).toContain("https://writ.example.org/gates/gate_1");
    expect(mail).not.toMatch(/^Bcc:/im);
  });

  it("is tried again when the mail server does not answer", async () => {
    const sink = await startMailSink();
    await sink.close();
    const { tell, problems } = await notifying(
      [{ email: "a@example.org", from: "w@example.org", smtp: { env: "SMTP" } }],
      {
        env: { SMTP: sink.url },
      },
    );
    await expect(tell(gateNotice(1))).rejects.toThrow();
    expect(problems).toEqual([expect.stringContaining("did not take the mail")]);
  });
});

describe("settings are refused", () => {
  const secret = { env: "HOOK" };
  it.each([
    [{ webhook: "http://hooks.example.org", secret }, "without https"],
    [{ webhook: "https://user:word@hooks.example.org", secret }, "a name or a password"],
    [{ webhook: "https://hooks.example.org", secret: "whsec_abc" }, "must name where secret is"],
    [{ webhook: "https://hooks.example.org", secret, kind: "gate" }, "has a field kind"],
    [{ webhook: "https://hooks.example.org", secret, kinds: ["all"] }, "has kinds"],
    [{ webhook: "https://hooks.example.org", secret: { env: "NONE" } }, "the variable NONE has no secret"],
    [{ webhook: "https://hooks.example.org", secret: { env: "SHORT" } }, "must be whsec_"],
    [{ webhook: "https://hooks.example.org", slack: secret, secret }, "needs one of"],
    [{ slack: "https://hooks.slack.com/x" }, "must name where slack is"],
    [{ email: "Ana <a@example.org>", from: "w@example.org", smtp: secret }, "needs email and from"],
    [{ email: "a@example.org", from: "w@example.org", smtp: secret }, "begins with smtp"],
  ])("%j", async (recipient, problem) => {
    const given = notifyPeople({
      url: "https://writ.example.org",
      recipients: [recipient as Recipient],
      env: { ...env, SHORT: "whsec_YWJj" },
    });
    await expect(given).rejects.toThrow(problem);
  });
});
