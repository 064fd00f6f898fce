// The six tools of the outreach flow. The "model" is a script.
import { createTransport } from "nodemailer";
import { defineTool } from "writ";
import { maildir, messageIdFor, seenByMessageId } from "writ/verifiers";
import { z } from "zod";

const DOMAIN = "outreach.example.org";
const Text = z.object({ text: z.string() });

/** A tool that asks the scripted model and reports its cost. */
function model(name, input, answer) {
  return defineTool({
    name,
    effect: "reads",
    cache: "use_if_safe",
    input,
    output: Text,
    run: async (given, { cost }) => {
      const text = answer(given);
      cost({
        model: "scripted-1",
        tokens_in: JSON.stringify(given).length,
        tokens_out: text.length,
        usd_micros: text.length,
      });
      return { text };
    },
  });
}

export function outreachTools({ port, mailbox, failApply = false, timeoutMs = 5000 }) {
  const send = defineTool({
    name: "Gmail.SendEmail",
    effect: "acts",
    tags: ["external_send"],
    timeoutMs,
    settleAfter: 200,
    input: z.object({ to: z.email(), subject: z.string(), body: z.string() }),
    output: z.object({ message_id: z.string() }),
    // The key becomes the Message-ID, so the verifier can find the mail later.
    run: async ({ to, subject, body }, { key }) => {
      const transport = createTransport({ host: "127.0.0.1", port, secure: false, ignoreTLS: true });
      const messageId = messageIdFor(key, DOMAIN);
      await transport.sendMail({ from: `outreach@${DOMAIN}`, to, subject, text: body, messageId });
      return { message_id: messageId };
    },
    verify: seenByMessageId({ search: maildir(mailbox), domain: DOMAIN }),
  });
  return [
    model(
      "Professor.Summarize",
      z.object({ professor: z.string() }),
      ({ professor }) => `Professor ${professor} works on durable systems.`,
    ),
    model(
      "Alignment.Build",
      z.object({ summary: z.string(), interest: z.string() }),
      ({ interest }) => `Both care about ${interest}.`,
    ),
    model(
      "Email.GenerateDraft",
      z.object({ summary: z.string(), alignment: z.string() }),
      ({ alignment }) => `Dear professor, ${alignment}`,
    ),
    model("Email.Review", z.object({ draft: z.string() }), ({ draft }) => `${draft} Kind regards.`),
    defineTool({
      name: "Request.Apply",
      effect: "writes",
      input: z.object({ request_id: z.number().int(), body: z.string() }),
      output: z.object({ request_id: z.number().int(), body: z.string() }),
      run: async (given) => {
        if (failApply) throw new Error("the request was closed meanwhile");
        return given;
      },
    }),
    send,
  ];
}

/** Summarise, align, draft, review: reusable. Apply: a person confirms first. Send: a person approves; never cached. */
export function outreachPlan(professor) {
  return {
    plan_id: "plan-outreach",
    intent_id: `outreach:${professor}`,
    steps: [
      {
        step_id: "summarize",
        name: "Professor.Summarize",
        payload: { professor },
        outcome: { type: "Summary.Professor", status: "final" },
      },
      {
        step_id: "align",
        name: "Alignment.Build",
        payload: { interest: "proof by crash" },
        bindings: { "/summary": { step: "summarize", path: "/text" } },
        outcome: { type: "Alignment", status: "final" },
      },
      {
        step_id: "draft",
        name: "Email.GenerateDraft",
        bindings: { "/summary": { step: "summarize", path: "/text" }, "/alignment": { step: "align", path: "/text" } },
        outcome: { type: "Draft.Email", status: "draft" },
      },
      {
        step_id: "review",
        name: "Email.Review",
        bindings: { "/draft": { step: "draft", path: "/text" } },
        outcome: { type: "Review.Email", status: "final" },
      },
      {
        step_id: "apply",
        name: "Request.Apply",
        payload: { request_id: 556 },
        bindings: { "/body": { step: "review", path: "/text" } },
        gate: "human_confirm",
      },
      {
        step_id: "send",
        name: "Gmail.SendEmail",
        payload: { to: "professor@example.org", subject: "Your work" },
        bindings: { "/body": { step: "apply", path: "/body" } },
      },
    ],
  };
}
