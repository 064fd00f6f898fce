import { judge, type Policy } from "../src/core/guard.ts";
import { cel } from "../src/expression/cel.ts";
import { standingGuards } from "../src/policy/guards.ts";
import { readPolicy } from "../src/policy/read-policy.ts";
import { RuleBook } from "../src/policy/rule-book.ts";
import { noon, plan, sendMail, step } from "../src/testing/given/cast.ts";
import { accepts, starts } from "../src/testing/given/moves.ts";
import { given } from "../src/testing/given.ts";
import { type Measurement, sideBySide } from "./measurement.ts";

const samples = 2000;
const inOne = 10;

/** Rules that are for the call, of every kind, and five times as many that are for others. */
function rules(): readonly object[] {
  const on = { tools: ["mail.*"], effects: ["acts"] };
  const expressions = [
    "input.amount <= 1000 && input.to.endsWith('@example.org')",
    "principal.kind != 'agent' || input.amount < 500",
    "!input.to.contains('..') && size(input.to) < 100",
    "input.lines.all(line, line.price >= 0 && line.count > 0)",
    "tool.risk != 'high' || 'admin' in principal.roles",
  ];
  const mine = [
    ...expressions.map((expression) => ({ kind: "require", expression })),
    ...[1, 2, 3, 4].map((most) => ({ kind: "parameter", path: "/amount", must: { at_most: most * 1000 } })),
    ...["internal", "test"].map((part) => ({ kind: "parameter", path: "/to", must_not: { contains: part } })),
    { kind: "parameter", path: "/to", must: { matches: "^[\\w.]+@example\\.org$" } },
    { kind: "parameter", path: "/currency", must: { in: ["EUR", "USD"] } },
    ...["pii", "secret", "untrusted", "health"].map((tag) => ({ kind: "flow", after: { tags: [tag] } })),
    ...["UTC", "Europe/Berlin", "America/New_York"].map((zone) => ({
      kind: "window",
      from: "00:00",
      to: "24:00",
      zone,
    })),
  ];
  const others = Array.from({ length: 80 }, (_, at) => ({
    id: `o${at}`,
    kind: "deny",
    on: { tools: [`tool${at}.*`] },
  }));
  return [...mine.map((rule, at) => ({ ...rule, id: `r${at}`, on })), ...others];
}

function policyOf(document: object): Policy {
  const read = readPolicy(document, cel);
  if (!read.ok) throw new Error(read.reasons.map(({ path, message }) => `${path}: ${message}`).join("; "));
  return new RuleBook("pol_bench", [read.policy]);
}

/** Microseconds that half of the judgements take at most. */
function halfOf(policy: Policy | null): number {
  const input = {
    to: "ana@example.org",
    amount: 120,
    currency: "EUR",
    lines: [1, 2, 3].map((count) => ({ count, price: 40 })),
  };
  const told = given(accepts(plan(step("send", { tool: sendMail, payload: input })))).when(starts("send"));
  const { proposal } = told.grant("send");
  const admission = {
    run: told.run,
    step: told.step("send"),
    proposal,
    effect: "acts",
    now: noon,
    policy,
    closure: null,
  } as const;
  const took = Array.from({ length: samples }, () => {
    const begun = process.hrtime.bigint();
    for (let times = 0; times < inOne; times += 1)
      if (judge(standingGuards, admission).kind !== "allow") throw new Error("a guard of the bench objects");
    return Number(process.hrtime.bigint() - begun) / 1000 / inOne;
  });
  return took.sort((left, right) => left - right)[samples / 2] as number;
}

/** What a call waits for before it is let through. */
export function guardChain(id: string): Measurement {
  const policy = policyOf({ schema_version: "1.0", name: "bench", rules: rules() });
  return {
    id,
    about: "all guards on one call, with a policy of 100 rules of which 20 are for it and 5 are expressions, median",
    beside: "the same guards without a policy",
    unit: "µs",
    goal: { of: "value", atMost: 50 },
    round: (order) => sideBySide(order, { engine: async () => halfOf(policy), limit: async () => halfOf(null) }),
  };
}
