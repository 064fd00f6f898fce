import type { Planted } from "./plant.ts";

/** Wrongs in who says yes, to what, and what is made of it. */
export const voting: readonly Planted[] = [
  {
    name: "whoever says yes twice is two people",
    file: "core/demand.js",
    find: "votes.filter((vote) => fits(part, poll, vote)).map(({ by }) => by)",
    replace: "votes.filter((vote) => fits(part, poll, vote))",
    also: {
      file: "core/decide/gate.js",
      find: "if (found.gate.votes.some((vote) => vote.by === by.id)) {",
      replace: "if (found.gate === null) {",
    },
  },
  {
    name: "nobody minds the role of who says yes",
    file: "core/demand.js",
    find: "(role === null || roles.includes(role))",
    replace: "(role === null || roles)",
  },
  {
    name: "others may decide before it is their turn",
    file: "core/demand.js",
    find: "vote.at >= opened_at + escalate.after_ms",
    replace: "vote.at >= opened_at",
  },
  {
    name: "a changed call is not judged again",
    file: "core/decide/start.js",
    find: "const verdict = isMeant(run, step, judged) ?",
    replace: 'const verdict = run.gates.get(step.gate)?.status === "approved" || isMeant(run, step, judged) ?',
  },
  {
    name: "a yes to one call is one to the call that it is changed to",
    file: "core/evolve/gate.js",
    find: "const votes = [voteOf(by, event.at)];",
    replace: "const votes = [...gate.votes, voteOf(by, event.at)];",
  },
  {
    name: "any yes meets what is asked for",
    file: "core/decide/approval.js",
    find: "demand === null || isMet({ ...pollOf(run, gate), demand }, gate.votes) ? gate : null",
    replace: "gate",
  },
  {
    name: "what was shown is not compared with what is there",
    file: "core/decide/start.js",
    find: "const drift = gate === null ||",
    replace: "const drift = gate !== undefined ||",
  },
  {
    name: "what comes out need not be what was shown",
    file: "core/decide/end.js",
    find: "if (other !== null)",
    replace: "if (other === run)",
  },
  {
    name: "a no leaves what was earned",
    file: "core/trust.js",
    find: "record.earned <= 0",
    replace: "record.earned >= 0",
  },
  {
    name: "what nobody approved earns trust",
    file: "core/decide/end.js",
    find: "return isApproved ? [{",
    replace: "return record ? [{",
  },
  {
    name: "less than is to be earned will do",
    file: "policy/rule-book.js",
    find: "earned >= after",
    replace: "earned + 1 >= after",
  },
];
