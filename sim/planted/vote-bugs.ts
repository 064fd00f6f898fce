import type { PlantedBug } from "./plant-bug.ts";

/** Bugs in approvals, votes, previews and trust. */
export const voteBugs: readonly PlantedBug[] = [
  {
    name: "two votes of one person count as two people",
    file: "core/approval/approval-demand.js",
    find: "votes.filter((vote) => countsFor(part, poll, vote)).map(({ by }) => personKey(by))",
    replace: "votes.filter((vote) => countsFor(part, poll, vote))",
    also: {
      file: "core/decide/decide-gate.js",
      find: "if (found.gate.votes.some((vote) => isSamePerson(vote.by, by.id))) {",
      replace: "if (found.gate === null) {",
    },
  },
  {
    name: "the role of a voter is not checked",
    file: "core/approval/approval-demand.js",
    find: "(role === null || roles.includes(role))",
    replace: "(role === null || roles)",
  },
  {
    name: "an escalation takes effect at once",
    file: "core/approval/approval-demand.js",
    find: "vote.at >= opened_at + escalate.after_ms",
    replace: "vote.at >= opened_at",
  },
  {
    name: "an edited call is not judged again",
    file: "core/decide/start-step.js",
    find: "const verdict = isConfirmed(run, step, judged) ?",
    replace: 'const verdict = run.gates.get(step.gate)?.status === "approved" || isConfirmed(run, step, judged) ?',
  },
  {
    name: "votes for a call count for its edited version",
    file: "core/evolve/evolve-gate.js",
    find: "const votes = gate.asks_for === undefined ? [toVote(by, event.at)] : [];",
    replace: "const votes = [...gate.votes, toVote(by, event.at)];",
  },
  {
    name: "any vote meets the demand",
    file: "core/decide/find-approval.js",
    find: "demand === null || isDemandMet({ ...gateVoteTerms(run, gate), demand }, gate.votes) ? gate : null",
    replace: "gate",
  },
  {
    name: "the data of a preview is not compared at the start",
    file: "core/decide/start-step.js",
    find: "const drift = gate === null ||",
    replace: "const drift = gate !== undefined ||",
  },
  {
    name: "the result is not compared with the preview",
    file: "core/decide/end-attempt.js",
    find: "if (other !== null)",
    replace: "if (other === run)",
  },
  {
    name: "a rejection does not remove trust",
    file: "core/approval/earned-trust.js",
    find: "record.earned <= 0",
    replace: "record.earned >= 0",
  },
  {
    name: "a call without approval earns trust",
    file: "core/decide/end-attempt.js",
    find: "return isApproved ? [{",
    replace: "return record ? [{",
  },
  {
    name: "trust applies one call too early",
    file: "policy/compiled-policy.js",
    find: "earned >= after",
    replace: "earned + 1 >= after",
  },
];
