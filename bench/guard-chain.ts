import { evaluateGuards, type Policy } from "../src/core/call/guard.ts";
import { cel } from "../src/expression/cel.ts";
import { CompiledPolicy } from "../src/policy/compiled-policy.ts";
import { standardGuards } from "../src/policy/guards/standard-guards.ts";
import { parsePolicy } from "../src/policy/parser/parse-policy.ts";
import { accepts, starts } from "../src/testing/given/commands.ts";
import { noon, plan, sendMail, step } from "../src/testing/given/fixtures.ts";
import { given } from "../src/testing/given/given.ts";
import { type Measurement, measurePair } from "./measurement.ts";

const samples = 2000;
const callsPerSample = 10;

/** Returns rules of every kind that apply to the call, and many more that apply to other tools. */
function benchRules(): readonly object[] {
  const on = { tools: ["mail.*"], effects: ["acts"] };
  const expressions = [
    "input.amount <= 1000 && input.to.endsWith('@example.org')",
    "principal.kind != 'agent' || input.amount < 500",
    "!input.to.contains('..') && size(input.to) < 100",
    "input.lines.all(line, line.price >= 0 && line.count > 0)",
    "tool.risk != 'high' || 'admin' in principal.roles",
  ];
  const matching = [
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
  return [...matching.map((rule, at) => ({ ...rule, id: `r${at}`, on })), ...others];
}

function compilePolicy(document: object): Policy {
  const read = parsePolicy(document, cel);
  if (!read.ok) throw new Error(read.reasons.map(({ path, message }) => `${path}: ${message}`).join("; "));
  return new CompiledPolicy("pol_bench", [read.policy]);
}

/** Returns the median time of the guards in microseconds. */
function medianMicros(policy: Policy | null): number {
  const input = {
    to: "ana@example.org",
    amount: 120,
    currency: "EUR",
    lines: [1, 2, 3].map((count) => ({ count, price: 40 })),
  };
  const scenario = given(accepts(plan(step("send", { tool: sendMail, payload: input })))).when(starts("send"));
  const { proposal } = scenario.grant("send");
  const admission = {
    run: scenario.run,
    step: scenario.step("send"),
    proposal,
    effect: "acts",
    now: noon,
    policy,
    closure: null,
    conditions: [],
  } as const;
  const took = Array.from({ length: samples }, () => {
    const start = process.hrtime.bigint();
    for (let times = 0; times < callsPerSample; times += 1)
      if (evaluateGuards(standardGuards, admission).kind !== "allow") throw new Error("a guard refused the call");
    return Number(process.hrtime.bigint() - start) / 1000 / callsPerSample;
  });
  return took.sort((left, right) => left - right)[samples / 2] as number;
}

/** Measures the guards of one call. */
export function guardChain(id: string): Measurement {
  const policy = compilePolicy({ schema_version: "1.0", name: "bench", rules: benchRules() });
  return {
    id,
    about: "all guards on one call, with a policy of 100 rules: 20 apply to it, 5 of them are expressions; median",
    limitAbout: "the same guards without a policy",
    unit: "µs",
    goal: { of: "value", atMost: 50 },
    round: (order) =>
      measurePair(order, { engine: async () => medianMicros(policy), limit: async () => medianMicros(null) }),
  };
}
