import { describe, expect, it } from "vitest";
import type { Event, EventType } from "../event/event.ts";
import { eventSentence } from "./event-sentence.ts";

const at = Date.UTC(2026, 0, 2, 3, 4, 5);
const fault = { code: "TOOL_FAILED", message: "broken" };
const by = { id: "ana", kind: "person", tenant: "demo" };
const step_id = "send";
const gate_id = "gate_1";

/** Fields that the sentence of each type reads, and the sentence. */
const samples: { readonly [Type in EventType]: readonly (readonly [fields: object, text: string])[] } = {
  "run.accepted": [
    [{ run_id: "run_1", principal: by, mode: "auto_exec" }, "run_1 accepted from person ana, auto_exec"],
  ],
  "run.refused": [[{ fault }, "refused: TOOL_FAILED: broken"]],
  "run.simulated": [
    [
      { simulation: { status: "unknown", acts: [{}], gates: [] } },
      "simulated, nothing was done: unknown, acts: 1, approvals: 0",
    ],
  ],
  "run.closed": [[{ by: "bot", as: "failed", reason: "" }, "closed by bot as failed"]],
  "run.replanned": [
    [{ plan: { steps: [{ step_id: "a@2" }, { step_id: "b" }] } }, "replanned with a fallback plan: a@2, b"],
    [{ plan: { steps: [{ step_id: "b" }] }, answer_of: "replan.1" }, "replanned by replan.1: b"],
  ],
  "run.released": [[{ by: "w1" }, "released by w1; it takes more calls"]],
  "run.turn_finished": [
    [{ lane: null }, "a turn is finished"],
    [{ lane: "a" }, "a turn of lane a is finished"],
  ],
  "run.branched": [
    [
      { lane: "a", dropped: ["m1", "m2"], acts: [] },
      "branched in lane a: m1, m2 are not replayed; acts before it: none",
    ],
    [{ lane: "a", dropped: ["m1"], acts: ["s"] }, "branched in lane a: m1 are not replayed; acts before it: s"],
  ],
  "run.sub_agent_left": [
    [{ child: "run_2", acts: [] }, "left the sub-agent of run run_2; its acts: none"],
    [{ child: "run_2", acts: [{ run_id: "r", step_id: "s" }] }, "left the sub-agent of run run_2; its acts: r/s"],
  ],
  "run.acts_left_above": [
    [{ acts: [{ run_id: "r", step_id: "s" }] }, "a branch above has left the acts: r/s"],
    [{ acts: [] }, "a branch above has left the acts: none"],
  ],
  "cancel.requested": [[{ by: "ana", reason: "too late" }, "cancelled by ana (too late)"]],
  "run.rolling_back": [
    [{ cause: { by: "step", step_id, fault: null } }, "rolled back: send ended the plan"],
    [{ cause: { by: "cancel", principal: "ana", reason: "" } }, "rolled back: cancelled by ana"],
  ],
  "run.restored": [
    [{ by: "ana", reason: "", backup_at: null }, "restored from a backup by ana"],
    [{ by: "ana", reason: "disk", backup_at: at }, "restored from a backup of 2026-01-02T03:04:05.000Z by ana (disk)"],
  ],
  "run.resumed": [[{ by: "ana", reason: "" }, "resumed by ana"]],
  "run.taken": [
    [{ by: "w2", from: "w1", steps: ["a", "b"] }, "taken over by w2 from w1, which did not release it; running: a, b"],
  ],
  "run.rules_adopted": [
    [
      { by: "w1", from: null, to: "0123456789abcdef" },
      "continued by w1 under other rules: 0123456789ab, before unknown",
    ],
    [{ by: "w1", from: "f".repeat(64), to: "0" }, "continued by w1 under other rules: 0, before ffffffffffff"],
  ],
  "run.parked": [[{ to: "0" }, "parked: its rules are pinned, and no live worker has them (found 0)"]],
  "run.poisoned": [[{}, "parked: several workers in a row lost it, and it made no progress"]],
  "run.ended": [
    [{ status: "completed" }, "completed"],
    [{ status: "failed", as: "rejected" }, "rejected"],
  ],
  "run.undone": [
    [{ by: "ana", reason: "", acts: [] }, "undone by ana: no acts"],
    [{ by: "ana", reason: "", acts: [{ step_id, undone: "confirmed" }] }, "undone by ana: send confirmed"],
  ],
  "run.verified": [
    [{ by: null, reason: "", acts: [] }, "verified: no acts"],
    [
      {
        by: "ana",
        reason: "",
        acts: [
          { step_id, found: "not_verifiable", why: null },
          { step_id, found: "missing", why: "no mail" },
        ],
      },
      "verified for ana: send not verifiable, send missing (no mail)",
    ],
  ],
  "state.restored": [[{ to: 3, by: "ana", reason: "" }, "state restored to version 3 by ana"]],
  "budget.alerted": [
    [{ level: 80, unit: "usd", per: "day", used: 8, limit: 10 }, "80 % of the usd per day is used: 8 of 10"],
  ],
  "notice.delivered": [[{ notice_id: "n1" }, "notice n1 delivered"]],
  "notice.withdrawn": [[{ notice_id: "n1" }, "notice n1 withdrawn: no worker delivered it before the run was erased"]],
  "step.proposed": [
    [{ step_id, step: { name: "mail.send" }, cause: { by: "agent" } }, "proposed: mail.send"],
    [{ step_id, step: { name: "ai" }, cause: { by: "replan", attempt: 2 } }, "asks ai for another plan, attempt 2"],
  ],
  "step.started": [
    [{ step_id, attempt: 1 }, "started"],
    [{ step_id, attempt: 2 }, "started, attempt 2"],
  ],
  "step.succeeded": [
    [{ step_id, output: [1] }, "succeeded: [1]"],
    [{ step_id, output: null, reused: { run: "run_0" } }, "succeeded (recorded by run_0): null"],
  ],
  "step.failed": [
    [{ step_id, fault, retry_at: null }, "failed: TOOL_FAILED: broken"],
    [{ step_id, fault, retry_at: at }, `failed, retried at @${at}: TOOL_FAILED: broken`],
  ],
  "step.cancelled": [[{ step_id }, "cancelled"]],
  "step.doubted": [[{ step_id, fault }, "in doubt: TOOL_FAILED: broken"]],
  "step.probed": [[{ step_id, saw: "absent", why: "no mail" }, "verified: absent, no mail"]],
  "step.settled": [
    [{ step_id, by: "ana", reason: "", settled: { as: "happened", output: 1 } }, "settled by ana: it happened: 1"],
    [{ step_id, by: "ana", reason: "", settled: { as: "not_done" } }, "settled by ana: it did not happen"],
    [{ step_id, by: "ana", reason: "", settled: { as: "absent" } }, "settled by ana: it did not happen"],
    [{ step_id, by: "ana", reason: "", settled: { as: "resend" } }, "settled by ana: sent again under the same key"],
    [{ step_id, by: "ana", reason: "lost", settled: { as: "given_up" } }, "settled by ana: given up (lost)"],
  ],
  "step.readied": [[{ step_id, why: "approved" }, "ready: approved"]],
  "step.restoring": [[{ step_id, fault }, "failed, its changes are being reverted: TOOL_FAILED: broken"]],
  "step.restored": [[{ step_id }, "changes reverted"]],
  "step.rejected": [[{ step_id, fault }, "rejected: TOOL_FAILED: broken"]],
  "step.parked": [
    [{ step_id, on: { for: "time", until: at } }, `waits for a time, @${at}`],
    [{ step_id, on: { for: "key", owner: "run_2" } }, "waits for the same act in run_2"],
    [{ step_id, on: { for: "signal", box: { key: "paid" }, until: null } }, "waits for the signal paid"],
    [{ step_id, on: { for: "signal", box: { key: "paid" }, until: at } }, `waits for the signal paid, until @${at}`],
    [{ step_id, on: { for: "rate", tally: "mails", until: at } }, `waits for the rate limit, @${at}: mails is used up`],
    [
      { step_id, on: { for: "halt", halt: { by: "ana", over: "the tenant", reason: "audit" } } },
      "waits for the end of a halt: ana halted the tenant (audit)",
    ],
    [{ step_id, on: { for: "tool", fault } }, "waits for its tool: TOOL_FAILED: broken"],
  ],
  "step.compensating": [[{ step_id, by: "ana", reason: "" }, "being undone by ana"]],
  "step.compensated": [
    [{ step_id, confirmed: true }, "undone and confirmed"],
    [{ step_id, confirmed: false }, "undone, unconfirmed"],
  ],
  "step.uncompensated": [[{ step_id, fault }, "could not be undone: TOOL_FAILED: broken"]],
  "step.superseded": [[{ step_id, by: { run: "run_2", step: "s" } }, "replaced by run_2, s"]],
  "step.delegated": [[{ step_id, run_id: "run_2" }, "done by the sub-agent of run run_2"]],
  "step.delivered": [[{ step_id, to: "chat" }, "answer delivered to chat"]],
  "evidence.kept": [[{ step_id, evidence: { late: true } }, 'answered too late: {"late":true}']],
  "gate.opened": [[{ gate_id, step_id, reason: "it acts" }, "gate_1 holds send: it acts"]],
  "gate.endorsed": [[{ gate_id, by, reason: "" }, "gate_1: approved by ana, more approvals needed"]],
  "gate.approved": [[{ gate_id, by, reason: "fine" }, "gate_1 approved by ana (fine)"]],
  "gate.amended": [
    [
      { gate_id, by, reason: "", call: { input: { to: "bob" } } },
      'gate_1: approved by ana with another input: {"to":"bob"}',
    ],
  ],
  "gate.escalated": [[{ gate_id }, "gate_1 escalated to more approvers"]],
  "gate.rejected": [[{ gate_id, by, reason: "" }, "gate_1 rejected by ana"]],
  "gate.expired": [[{ gate_id }, "gate_1 expired"]],
  "gate.closed": [[{ gate_id, reason: "edited" }, "gate_1 closed (edited)"]],
  "gate.contested": [[{ gate_id, fault }, "gate_1 not decided: TOOL_FAILED: broken"]],
};

const rows = Object.entries(samples).flatMap(([type, list]) =>
  list.map(([fields, text]) => [type, text, fields] as const),
);

describe("the sentence of an event", () => {
  it.each(rows)("of the type %s is: %s", (type, text, fields) => {
    expect(asText({ type, at, ...fields } as unknown as Event)).toBe(text);
  });

  it("keeps values and times as parts, which each surface shows in its own way", () => {
    const failed = { type: "step.failed", at, step_id, fault, retry_at: at } as unknown as Event;
    expect(eventSentence(failed)).toEqual(["failed, retried at ", { at }, ": TOOL_FAILED: broken"]);
  });
});

function asText(event: Event): string {
  const parts = eventSentence(event).map((part) => {
    if (typeof part === "string") return part;
    return "at" in part ? `@${part.at}` : JSON.stringify(part.value);
  });
  return parts.join("");
}
