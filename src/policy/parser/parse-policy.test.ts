import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../core/values/json.ts";
import { cel } from "../../expression/cel.ts";
import { parsePolicy, policyLimits } from "./parse-policy.ts";

const minimal = { schema_version: "1.0", name: "house" };
const reasonsFor = (document: unknown) => {
  const read = parsePolicy(document, cel);
  return read.ok ? [] : read.reasons.map(({ path, message }) => `${path} ${message}`);
};
const rule = (more: JsonObject): JsonObject => ({ ...minimal, rules: [{ id: "r", ...more }] });

describe("a policy that names a field of a variable", () => {
  it.each([
    ["tool.cost > 10", "tool has no field cost; its fields are name, version, risk, effect, tags"],
    ['principal["role"] == "boss"', "principal has no field role; its fields are id, kind, roles, claims"],
    ["has(run.project)", "run has no field project; its fields are id, mode, origin, plan_id, spent"],
    ["step.nth == 1", "step has no field nth; its fields are id, cause, attempt"],
  ])("is refused when it is read if the field does not exist: %s", (source, why) => {
    for (const [field, document] of [
      ["when", rule({ kind: "deny", when: source })],
      ["expression", rule({ kind: "require", expression: source })],
    ] as const)
      expect(reasonsFor(document).filter((reason) => reason.includes(field))).toEqual([
        `/rules/0/${field} cannot be parsed: ${why}`,
      ]);
  });

  it.each(["input.a.b > 1", "context.a == 1", "principal.claims.team == 1", "['a'].exists(t, t in tool.tags)"])(
    "is valid if the field can exist: %s",
    (source) => expect(reasonsFor(rule({ kind: "deny", when: source }))).toEqual([]),
  );
});

describe("a valid policy", () => {
  it("has a scope, settings and rules", () => {
    const document = {
      ...minimal,
      scope: { tenant: "acme", project: "crm", session: "s" },
      roles: ["cfo"],
      mode: "draft_only",
      max_steps: { draft_only: 3, auto_exec: 0 },
      rules: [{ id: "a", kind: "deny" }],
    };
    const read = parsePolicy(document, cel);
    expect(read).toMatchObject({
      ok: true,
      policy: {
        name: "house",
        scope: { tenant: "acme", project: "crm", session: "s" },
        roles: ["cfo"],
        mode: "draft_only",
        maxSteps: { draft_only: 3, auto_exec: 0 },
        trust: [],
        rules: [{ id: "session/house/a", role: "objects", when: null }],
        document,
      },
    });
    expect(parsePolicy(minimal, cel)).toMatchObject({
      ok: true,
      policy: { scope: {}, roles: null, mode: null, maxSteps: {}, trust: [], rules: [] },
    });
  });

  it("trusts up to medium risk by default", () => {
    const trust = [{ tools: ["a"] }, { tools: ["b.*"], risk: "high" }];
    expect(parsePolicy({ ...minimal, trust }, cel)).toMatchObject({
      ok: true,
      policy: { trust: [{ risk: "medium" }, { risk: "high" }] },
    });
  });
});

describe("an invalid policy", () => {
  it.each<[string, unknown, readonly string[]]>([
    ["not an object", [], [" a policy is an object"]],
    [
      "not JSON",
      { ...minimal, rules: [{ id: "r", kind: "deny", reason: Number.NaN }] },
      [expect.stringContaining("/rules/0/reason") as never],
    ],
    ["no version", { name: "house" }, ['/schema_version must be "1.0"']],
    ["another version", { ...minimal, schema_version: "2.0" }, ['/schema_version must be "1.0"']],
    ["no name", { schema_version: "1.0" }, ["/name is required: the name of the policy in the record"]],
    ["a misspelt field", { ...minimal, rule: [] }, ["/rule no such field; did you mean rules?"]],
    [
      "an unknown mode",
      { ...minimal, mode: "yolo" },
      ["/mode must be one of dry_run, draft_only, human_gated, auto_exec"],
    ],
    [
      "a project without a tenant",
      { ...minimal, scope: { project: "p" } },
      ["/scope/tenant is required with a project or session"],
    ],
    ["a scope that is not an object", { ...minimal, scope: "acme" }, ["/scope must be an object"]],
    [
      "a misspelt scope",
      { ...minimal, scope: { tennant: "a" } },
      ["/scope/tennant no such field; did you mean tenant?"],
    ],
    [
      "a tenant without a name",
      { ...minimal, scope: { tenant: "" } },
      ["/scope/tenant must be a name of 1 to 200 printable characters, without a space at either end"],
    ],
    [
      "a step limit for an unknown mode",
      { ...minimal, max_steps: { yolo: 1 } },
      [expect.stringContaining("/max_steps/yolo") as never],
    ],
    [
      "a negative step limit",
      { ...minimal, max_steps: { auto_exec: -1 } },
      ["/max_steps/auto_exec must be a whole number from 0 to 10000"],
    ],
    [
      "trust in a project",
      { ...minimal, scope: { tenant: "a", project: "p" }, trust: [{ tools: ["a"] }] },
      ["/trust is only allowed in a global or tenant policy; projects and sessions can only restrict"],
    ],
    [
      "trust in a session",
      { ...minimal, scope: { tenant: "a", session: "p" }, trust: [{ tools: ["a"] }] },
      ["/trust is only allowed in a global or tenant policy; projects and sessions can only restrict"],
    ],
    ["trust without tools", { ...minimal, trust: [{}] }, ["/trust/0/tools is required: the tools that are trusted"]],
    ["trust that is not an object", { ...minimal, trust: ["a"] }, ["/trust/0 must be an object"]],
    [
      "trust with an unknown risk",
      { ...minimal, trust: [{ tools: ["a"], risk: "tiny" }] },
      ["/trust/0/risk must be one of low, medium, high"],
    ],
    [
      "a misspelt field of trust",
      { ...minimal, trust: [{ tools: ["a"], risks: 1 }] },
      ["/trust/0/risks no such field; did you mean risk?"],
    ],
    ["an empty list of roles", { ...minimal, roles: [] }, ["/roles must be a list of 1 to 200 of names of roles"]],
    ["a rule that is not an object", { ...minimal, rules: [1] }, ["/rules/0 must be an object"]],
    ["rules that are not a list", { ...minimal, rules: {} }, ["/rules must be a list"]],
    [
      "two rules with one id",
      {
        ...minimal,
        rules: [
          { id: "a", kind: "deny" },
          { id: "a", kind: "allow" },
        ],
      },
      ["/rules/1/id is the id of an earlier rule; each id must be unique"],
    ],
    [
      "too many rules",
      {
        ...minimal,
        rules: Array.from({ length: policyLimits.rules + 1 }, (_, at) => ({ id: `r${at}`, kind: "deny" })),
      },
      [`/rules are more than ${policyLimits.rules}`],
    ],
  ])("%s", (_, document, reasons) => {
    expect(reasonsFor(document)).toEqual(reasons);
  });

  it.each<[JsonObject, readonly string[]]>([
    [
      {},
      [
        "/rules/0/kind is required: one of allow, deny, parameter, require, state, approval, confirmation, window, flow, rate, budget, invariant",
      ],
    ],
    [
      { kind: "yolo" },
      [
        "/rules/0/kind must be one of allow, deny, parameter, require, state, approval, confirmation, window, flow, rate, budget, invariant",
      ],
    ],
    [{ kind: "deny", id: "a b" }, ["/rules/0/id must be 1 to 64 letters, digits, dots, dashes or underscores"]],
    [{ kind: "deny", reason: "a\nb" }, ["/rules/0/reason must be one line of at most 500 characters"]],
    [{ kind: "deny", tool: "x" }, [expect.stringContaining("/rules/0/tool no such field") as never]],
    [{ kind: "deny", on: [] }, ["/rules/0/on must be an object"]],
    [{ kind: "deny", on: { tool: ["x"] } }, ["/rules/0/on/tool no such field; did you mean tools?"]],
    [
      { kind: "deny", on: { tools: "x" } },
      ["/rules/0/on/tools must be a list of 1 to 200 of names of tools, in which * matches anything"],
    ],
    [
      { kind: "deny", on: { tools: [] } },
      ["/rules/0/on/tools must be a list of 1 to 200 of names of tools, in which * matches anything"],
    ],
    [
      { kind: "deny", on: { tools: ["a b"] } },
      ["/rules/0/on/tools must be a list of 1 to 200 of names of tools, in which * matches anything"],
    ],
    [
      { kind: "deny", on: { effects: ["acts", "toString"] } },
      [expect.stringContaining("/rules/0/on/effects must be a list") as never],
    ],
    [{ kind: "deny", on: { tags: ["a b"] } }, ["/rules/0/on/tags must be a list of 1 to 200 of words"]],
    [{ kind: "deny", on: { risks: ["tiny"] } }, ["/rules/0/on/risks must be a list of 1 to 200 of low, medium, high"]],
    [{ kind: "deny", on: { roles: [1] } }, ["/rules/0/on/roles must be a list of 1 to 200 of names of roles"]],
    [
      { kind: "deny", on: { principals: ["bot"] } },
      ["/rules/0/on/principals must be a list of 1 to 200 of agent, person, service"],
    ],
    [
      { kind: "deny", on: { causes: ["luck"] } },
      ["/rules/0/on/causes must be a list of 1 to 200 of plan, agent, errand, replan, undo"],
    ],
    [{ kind: "deny", when: 1 }, ["/rules/0/when must be an expression, as text"]],
    [
      { kind: "deny", when: "secrets.key == ''" },
      [
        "/rules/0/when cannot be parsed: secrets is not defined; the variables are input, tool, principal, run, step, context, estimate, now",
      ],
    ],
    [{ kind: "require" }, ["/rules/0/expression is required: the condition"]],
    [{ kind: "require", expression: "1 +" }, ["/rules/0/expression cannot be parsed: Unexpected token: EOF"]],
    [{ kind: "approval", role: 1 }, ["/rules/0/role must be the name of a role"]],
    [{ kind: "parameter", path: "/a" }, ["/rules/0/must or must_not is required, not both"]],
    [
      { kind: "parameter", path: "/a", must: { equals: 1 }, must_not: { equals: 2 } },
      ["/rules/0/must or must_not is required, not both"],
    ],
    [
      { kind: "parameter", path: "a", must: { equals: 1 } },
      ["/rules/0/path must be a JSON pointer into the input, such as /amount"],
    ],
    [
      { kind: "parameter", must: { equals: 1 } },
      ["/rules/0/path must be a JSON pointer into the input, such as /amount"],
    ],
    [
      { kind: "parameter", path: "/a", must: {} },
      ["/rules/0/must/ must be one of equals, in, contains, matches, at_most, at_least, exists"],
    ],
    [
      { kind: "parameter", path: "/a", must: { equals: 1, in: [1] } },
      ["/rules/0/must/ must be one of equals, in, contains, matches, at_most, at_least, exists"],
    ],
    [
      { kind: "parameter", path: "/a", must: { equal: 1 } },
      [
        "/rules/0/must/equal no such field; did you mean equals?",
        "/rules/0/must/ must be one of equals, in, contains, matches, at_most, at_least, exists",
      ],
    ],
    [
      { kind: "parameter", path: "/a", must: { exists: false } },
      ["/rules/0/must/exists must be true; use must_not for a value that must be absent"],
    ],
    [{ kind: "parameter", path: "/a", must: { in: 1 } }, ["/rules/0/must/in must be a list of values"]],
    [{ kind: "parameter", path: "/a", must: { matches: 1 } }, ["/rules/0/must/matches must be a pattern, as text"]],
    [
      { kind: "parameter", path: "/a", must: { matches: "(" } },
      ["/rules/0/must/matches cannot be parsed: its pattern has an unmatched ("],
    ],
    [{ kind: "parameter", path: "/a", must: { at_most: "1" } }, ["/rules/0/must/at_most must be a number"]],
    [{ kind: "parameter", path: "/a", must_not: { at_least: null } }, ["/rules/0/must_not/at_least must be a number"]],
    [
      { kind: "window", from: "09:00", to: "17:00", zone: "Mars/Base" },
      ["/rules/0/zone must be the IANA name of a time zone, such as Europe/Berlin"],
    ],
    [
      { kind: "window", from: "9", to: "17:00" },
      ["/rules/0/from must be a time of the day, such as 09:00", "/rules/0/from is required: a time such as 09:00"],
    ],
    [{ kind: "window", from: "09:00" }, ["/rules/0/to is required: a time such as 09:00"]],
    [{ kind: "window", from: "09:00", to: "09:00" }, ["/rules/0/to must differ from from"]],
    [
      { kind: "window", from: "09:00", to: "24:01" },
      ["/rules/0/to must be a time of the day, such as 09:00", "/rules/0/to is required: a time such as 09:00"],
    ],
    [
      { kind: "window", from: "09:00", to: "10:00", days: ["monday"] },
      ["/rules/0/days must be a list of 1 to 200 of sun, mon, tue, wed, thu, fri, sat"],
    ],
    [
      { kind: "window", from: "09:00", to: "10:00", outside: "allow" },
      ["/rules/0/outside must be one of refuse, hold"],
    ],
    [
      { kind: "window", from: "09:00", to: "10:00", zone: 1 },
      ["/rules/0/zone must be the IANA name of a time zone, such as Europe/Berlin"],
    ],
    [{ kind: "approval", people: 0 }, ["/rules/0/people must be a whole number from 1 to 20"]],
    [{ kind: "approval", people: 3, approvers: ["a", "b", "a"] }, ["/rules/0/people exceeds the number of approvers"]],
    [{ kind: "approval", approvers: [""] }, ["/rules/0/approvers must be a list of 1 to 200 of ids of people"]],
    [{ kind: "approval", self: "yes" }, ["/rules/0/self must be true or false"]],
    [
      { kind: "approval", within_ms: 5, escalate: { after_ms: 5, role: "b" } },
      ["/rules/0/within_ms ends before the escalation"],
    ],
    [
      { kind: "approval", escalate: {} },
      [
        "/rules/0/escalate/after_ms is required: the time without a decision after which it escalates",
        "/rules/0/escalate/role or approvers is required: the people who may then decide",
      ],
    ],
    [{ kind: "approval", escalate: 5 }, ["/rules/0/escalate must be an object"]],
    [{ kind: "confirmation", role: "cfo" }, ["/rules/0/role no such field; there are id, kind, on, when, reason"]],
    [{ kind: "flow" }, ["/rules/0/after is required: tags, tools or both of earlier calls"]],
    [{ kind: "flow", after: {} }, ["/rules/0/after is required: tags, tools or both of earlier calls"]],
    [
      { kind: "flow", after: { tag: "x" } },
      [
        "/rules/0/after/tag no such field; did you mean tags?",
        "/rules/0/after is required: tags, tools or both of earlier calls",
      ],
    ],
    [{ kind: "flow", after: { tags: ["x"] }, answer: "allow" }, ["/rules/0/answer must be one of refuse, hold"]],
    [
      { kind: "rate" },
      [
        "/rules/0/calls is required: the number of calls",
        "/rules/0/per is required: one of user-minute, user-hour, project-minute, project-hour, tenant-minute, tenant-hour",
      ],
    ],
    [
      { kind: "rate", calls: 0, per: "user-hour" },
      ["/rules/0/calls must be a whole number from 1 to 1000000000000000"],
    ],
    [
      { kind: "budget", per: "run", zone: 7 },
      [
        "/rules/0/unit is required: one of usd_micros, credits, tokens_in, tokens_out, tokens, calls, ms",
        "/rules/0/limit is required: the largest amount",
        "/rules/0/zone must be the IANA name of a time zone, such as Europe/Berlin",
      ],
    ],
  ])("with the rule %j", (more, reasons) => {
    expect(reasonsFor(rule(more))).toEqual(reasons);
  });

  it("with a role that it does not list", () => {
    const roles = ["cfo"];
    const rules: readonly Json[] = [
      { id: "a", kind: "approval", role: "nurse" },
      { id: "b", kind: "deny", on: { roles: ["cfo", "nurse"] } },
      { id: "c", kind: "approval", role: "cfo" },
    ];
    expect(reasonsFor({ ...minimal, roles, rules })).toEqual([
      "/rules/0/role must be one of cfo",
      "/rules/1/on/roles must be a list of 1 to 200 of roles of this policy: cfo",
    ]);
  });

  it("has all reasons", () => {
    expect(reasonsFor({ name: "a b", mode: 1, rules: [{}, 2] })).toHaveLength(7);
  });
});
