import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../core/json/json.ts";
import { cel } from "../expression/cel.ts";
import { policyLimits, readPolicy } from "./read-policy.ts";

const whole = { schema_version: "1.0", name: "house" };
const wrong = (document: unknown) => {
  const read = readPolicy(document, cel);
  return read.ok ? [] : read.reasons.map(({ path, message }) => `${path} ${message}`);
};
const rule = (more: JsonObject): JsonObject => ({ ...whole, rules: [{ id: "r", ...more }] });

describe("a policy that is read", () => {
  it("says who it is for and what it asks for", () => {
    const document = {
      ...whole,
      scope: { tenant: "acme", project: "crm", session: "s" },
      roles: ["cfo"],
      mode: "draft_only",
      max_steps: { draft_only: 3, auto_exec: 0 },
      rules: [{ id: "a", kind: "deny" }],
    };
    const read = readPolicy(document, cel);
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
    expect(readPolicy(whole, cel)).toMatchObject({
      ok: true,
      policy: { scope: {}, roles: null, mode: null, maxSteps: {}, trust: [], rules: [] },
    });
  });

  it("trusts up to medium risk unless it says otherwise", () => {
    const trust = [{ tools: ["a"] }, { tools: ["b.*"], risk: "high" }];
    expect(readPolicy({ ...whole, trust }, cel)).toMatchObject({
      ok: true,
      policy: { trust: [{ risk: "medium" }, { risk: "high" }] },
    });
  });
});

describe("a policy that is refused", () => {
  it.each<[string, unknown, readonly string[]]>([
    ["no object", [], [" a policy is an object"]],
    [
      "not JSON",
      { ...whole, rules: [{ id: "r", kind: "deny", reason: Number.NaN }] },
      [expect.stringContaining("/rules/0/reason") as never],
    ],
    ["no version", { name: "house" }, ['/schema_version must be "1.0"']],
    ["another version", { ...whole, schema_version: "2.0" }, ['/schema_version must be "1.0"']],
    ["no name", { schema_version: "1.0" }, ["/name is what the record calls the policy"]],
    ["a misspelt field", { ...whole, rule: [] }, ["/rule no such field; did you mean rules?"]],
    [
      "a mode that nobody knows",
      { ...whole, mode: "yolo" },
      ["/mode must be one of dry_run, draft_only, human_gated, auto_exec"],
    ],
    ["a project of nobody", { ...whole, scope: { project: "p" } }, ["/scope/tenant is whose project or session it is"]],
    ["a scope that is none", { ...whole, scope: "acme" }, ["/scope must be an object"]],
    ["a misspelt scope", { ...whole, scope: { tennant: "a" } }, ["/scope/tennant no such field; did you mean tenant?"]],
    [
      "a tenant without a name",
      { ...whole, scope: { tenant: "" } },
      ["/scope/tenant must be a name of 1 to 200 printable characters"],
    ],
    [
      "steps by a mode that nobody knows",
      { ...whole, max_steps: { yolo: 1 } },
      [expect.stringContaining("/max_steps/yolo") as never],
    ],
    [
      "less than no steps",
      { ...whole, max_steps: { auto_exec: -1 } },
      ["/max_steps/auto_exec must be a whole number from 0 to 10000"],
    ],
    [
      "trust in a project",
      { ...whole, scope: { tenant: "a", project: "p" }, trust: [{ tools: ["a"] }] },
      ["/trust is for a tenant to give, or for everybody; a project or a session only asks for more"],
    ],
    [
      "trust in a session",
      { ...whole, scope: { tenant: "a", session: "p" }, trust: [{ tools: ["a"] }] },
      ["/trust is for a tenant to give, or for everybody; a project or a session only asks for more"],
    ],
    ["trust in nothing", { ...whole, trust: [{}] }, ["/trust/0/tools is what is trusted"]],
    ["trust that is none", { ...whole, trust: ["a"] }, ["/trust/0 must be an object"]],
    [
      "trust in a risk that nobody knows",
      { ...whole, trust: [{ tools: ["a"], risk: "tiny" }] },
      ["/trust/0/risk must be one of low, medium, high"],
    ],
    [
      "misspelt trust",
      { ...whole, trust: [{ tools: ["a"], risks: 1 }] },
      ["/trust/0/risks no such field; did you mean risk?"],
    ],
    ["no roles", { ...whole, roles: [] }, ["/roles must be a list of 1 to 200 of names of roles"]],
    ["rules that are none", { ...whole, rules: [1] }, ["/rules/0 must be an object"]],
    ["rules that are no list", { ...whole, rules: {} }, ["/rules must be a list"]],
    [
      "a rule twice",
      {
        ...whole,
        rules: [
          { id: "a", kind: "deny" },
          { id: "a", kind: "allow" },
        ],
      },
      ["/rules/1/id is the id of an earlier rule; the record could not tell them apart"],
    ],
    [
      "too many rules",
      { ...whole, rules: Array.from({ length: policyLimits.rules + 1 }, (_, at) => ({ id: `r${at}`, kind: "deny" })) },
      [`/rules are more than ${policyLimits.rules}`],
    ],
  ])("%s", (_, document, reasons) => {
    expect(wrong(document)).toEqual(reasons);
  });

  it.each<[JsonObject, readonly string[]]>([
    [
      {},
      [
        "/rules/0/kind is what the rule does: allow, deny, parameter, require, state, approval, confirmation, window, flow, rate, budget, invariant",
      ],
    ],
    [
      { kind: "yolo" },
      [
        "/rules/0/kind must be one of allow, deny, parameter, require, state, approval, confirmation, window, flow, rate, budget, invariant",
        "/rules/0/kind is what the rule does: allow, deny, parameter, require, state, approval, confirmation, window, flow, rate, budget, invariant",
      ],
    ],
    [
      { kind: "deny", id: "a b" },
      [
        "/rules/0/id must be 1 to 64 letters, digits, dots, dashes or underscores",
        "/rules/0/id is what the record calls the rule",
      ],
    ],
    [{ kind: "deny", reason: "a\nb" }, ["/rules/0/reason must be one line of at most 500 characters"]],
    [{ kind: "deny", tool: "x" }, [expect.stringContaining("/rules/0/tool no such field") as never]],
    [{ kind: "deny", on: [] }, ["/rules/0/on must be an object"]],
    [{ kind: "deny", on: { tool: ["x"] } }, ["/rules/0/on/tool no such field; did you mean tools?"]],
    [
      { kind: "deny", on: { tools: "x" } },
      ["/rules/0/on/tools must be a list of 1 to 200 of names of tools, in which * stands for anything"],
    ],
    [
      { kind: "deny", on: { tools: [] } },
      ["/rules/0/on/tools must be a list of 1 to 200 of names of tools, in which * stands for anything"],
    ],
    [
      { kind: "deny", on: { tools: ["a b"] } },
      ["/rules/0/on/tools must be a list of 1 to 200 of names of tools, in which * stands for anything"],
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
      ["/rules/0/on/causes must be a list of 1 to 200 of plan, agent, errand, undo"],
    ],
    [{ kind: "deny", when: 1 }, ["/rules/0/when must be an expression, as text"]],
    [
      { kind: "deny", when: "secrets.key == ''" },
      [
        "/rules/0/when cannot be read: there is no secrets here; there is input, tool, principal, run, step, context, now",
      ],
    ],
    [{ kind: "require" }, ["/rules/0/expression is what has to hold"]],
    [{ kind: "require", expression: "1 +" }, ["/rules/0/expression cannot be read: Unexpected token: EOF"]],
    [{ kind: "approval", role: 1 }, ["/rules/0/role must be the name of a role"]],
    [{ kind: "parameter", path: "/a" }, ["/rules/0/must say either what must be or, in must_not, what must not"]],
    [
      { kind: "parameter", path: "/a", must: { equals: 1 }, must_not: { equals: 2 } },
      ["/rules/0/must say either what must be or, in must_not, what must not"],
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
      ["/rules/0/must/exists must be true; write must_not for what must not be there"],
    ],
    [{ kind: "parameter", path: "/a", must: { in: 1 } }, ["/rules/0/must/in must be a list of values"]],
    [{ kind: "parameter", path: "/a", must: { matches: 1 } }, ["/rules/0/must/matches must be a pattern, as text"]],
    [
      { kind: "parameter", path: "/a", must: { matches: "(" } },
      ["/rules/0/must/matches cannot be read: its pattern has a ( that is never closed"],
    ],
    [{ kind: "parameter", path: "/a", must: { at_most: "1" } }, ["/rules/0/must/at_most must be a number"]],
    [{ kind: "parameter", path: "/a", must_not: { at_least: null } }, ["/rules/0/must_not/at_least must be a number"]],
    [
      { kind: "window", from: "09:00", to: "17:00", zone: "Mars/Base" },
      ["/rules/0/zone must be the IANA name of a time zone, such as Europe/Berlin"],
    ],
    [
      { kind: "window", from: "9", to: "17:00" },
      [
        "/rules/0/from must be a time of the day, such as 09:00",
        "/rules/0/from is when it opens or closes, such as 09:00",
      ],
    ],
    [{ kind: "window", from: "09:00" }, ["/rules/0/to is when it opens or closes, such as 09:00"]],
    [{ kind: "window", from: "09:00", to: "09:00" }, ["/rules/0/to must be another time than from"]],
    [
      { kind: "window", from: "09:00", to: "24:01" },
      ["/rules/0/to must be a time of the day, such as 09:00", "/rules/0/to is when it opens or closes, such as 09:00"],
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
    [
      { kind: "approval", people: 3, approvers: ["a", "b", "a"] },
      ["/rules/0/people are more than there are approvers"],
    ],
    [{ kind: "approval", approvers: [""] }, ["/rules/0/approvers must be a list of 1 to 200 of ids of people"]],
    [{ kind: "approval", self: "yes" }, ["/rules/0/self must be true or false"]],
    [
      { kind: "approval", within_ms: 5, escalate: { after_ms: 5, role: "b" } },
      ["/rules/0/within_ms is over before others may decide"],
    ],
    [
      { kind: "approval", escalate: {} },
      [
        "/rules/0/escalate/after_ms is how long nobody has to have decided",
        "/rules/0/escalate/role is who else may decide then; or say approvers, by id",
      ],
    ],
    [{ kind: "approval", escalate: 5 }, ["/rules/0/escalate must be an object"]],
    [{ kind: "confirmation", role: "cfo" }, ["/rules/0/role no such field; there are id, kind, on, when, reason"]],
    [{ kind: "flow" }, ["/rules/0/after is what the run has touched before: tags, tools or both"]],
    [{ kind: "flow", after: {} }, ["/rules/0/after is what the run has touched before: tags, tools or both"]],
    [
      { kind: "flow", after: { tag: "x" } },
      [
        "/rules/0/after/tag no such field; did you mean tags?",
        "/rules/0/after is what the run has touched before: tags, tools or both",
      ],
    ],
    [{ kind: "flow", after: { tags: ["x"] }, answer: "allow" }, ["/rules/0/answer must be one of refuse, hold"]],
    [
      { kind: "rate" },
      [
        "/rules/0/calls is how many there may be",
        "/rules/0/per is for whom: user-minute, user-hour, project-minute, project-hour, tenant-minute, tenant-hour",
      ],
    ],
    [
      { kind: "rate", calls: 0, per: "user-hour" },
      ["/rules/0/calls must be a whole number from 1 to 1000000000000000"],
    ],
    [
      { kind: "budget", per: "run", zone: 7 },
      [
        "/rules/0/unit is what it counts: usd_micros, credits, tokens_in, tokens_out, tokens, calls, ms",
        "/rules/0/limit is how much there may be",
        "/rules/0/zone must be the IANA name of a time zone, such as Europe/Berlin",
      ],
    ],
  ])("for a rule like %j", (more, reasons) => {
    expect(wrong(rule(more))).toEqual(reasons);
  });

  it("for a role that it does not know", () => {
    const roles = ["cfo"];
    const rules: readonly Json[] = [
      { id: "a", kind: "approval", role: "nurse" },
      { id: "b", kind: "deny", on: { roles: ["cfo", "nurse"] } },
      { id: "c", kind: "approval", role: "cfo" },
    ];
    expect(wrong({ ...whole, roles, rules })).toEqual([
      "/rules/0/role must be one of cfo",
      "/rules/1/on/roles must be a list of 1 to 200 of roles of this policy: cfo",
    ]);
  });

  it("for every reason at once", () => {
    expect(wrong({ name: "a b", mode: 1, rules: [{}, 2] })).toHaveLength(7);
  });
});
