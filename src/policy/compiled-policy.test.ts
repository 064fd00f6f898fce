import { describe, expect, it } from "vitest";
import type { Proposal } from "../core/call/proposal.ts";
import type { Json, JsonObject } from "../core/values/json.ts";
import { accepts, does, fails, proposes, starts, undoes } from "../testing/given/commands.ts";
import { addUp, plan, readPage, robin, sendMail, step } from "../testing/given/fixtures.ts";
import { given } from "../testing/given/given.ts";
import {
  type CallOptions,
  callAdmission,
  policyWith,
  refusalMessage,
  verdictKind,
  verdictOn,
} from "../testing/given/policy-rules.ts";
import { CompiledPolicy } from "./compiled-policy.ts";

describe("a policy", () => {
  it("allows a call that no rule applies to, and names its version", () => {
    expect(verdictOn([])).toEqual({ kind: "allow", basis: { policy: "v1", passed: [], objections: [] } });
  });

  it("allows a step that calls no tool", () => {
    const policy = new CompiledPolicy("v1", [policyWith([{ id: "all", kind: "deny" }])]);
    expect(policy.judge({ ...callAdmission(), proposal: { tool: null } as Proposal })).toEqual({ kind: "allow" });
  });

  it("refuses with all reasons, and a refusal outweighs a hold", () => {
    const verdict = verdictOn([
      { id: "ask", kind: "approval" },
      { id: "no-mail", kind: "deny", on: { tools: ["mail.*"] }, reason: "no mail" },
      { id: "fine", kind: "deny", on: { tools: ["page.*"] } },
      { id: "never", kind: "deny" },
      { id: "small", kind: "parameter", path: "/to", must: { equals: "ana" } },
    ]);
    expect(verdict).toEqual({
      kind: "refuse",
      rule: "global/house/no-mail",
      fault: {
        code: "POLICY_DENIED",
        message: "policy global/house/no-mail: no mail; policy global/house/never: mail.send is denied",
      },
      basis: {
        policy: "v1",
        passed: ["global/house/small"],
        objections: [
          { rule: "global/house/ask", says: "hold", reason: "mail.send needs the approval of a person" },
          { rule: "global/house/no-mail", says: "refuse", reason: "no mail" },
          { rule: "global/house/never", says: "refuse", reason: "mail.send is denied" },
        ],
      },
    });
  });

  it("holds for the demands of all its rules, each once", () => {
    const ask = (id: string, role?: string): Json => ({ id, kind: "approval", ...(role && { role }) });
    expect(verdictOn([ask("a"), ask("b", "cfo"), ask("c")])).toMatchObject({ kind: "hold", demand: { role: "cfo" } });
    expect(verdictOn([ask("b", "cfo")])).toMatchObject({ reason: "mail.send needs the approval of a cfo" });
    expect(verdictOn([ask("a", "cfo"), ask("b", "nurse"), ask("c")])).toMatchObject({
      kind: "hold",
      demand: { role: "cfo", and: [{ role: "nurse" }] },
    });
  });

  it("passes on the number of people, the approvers and the times of a rule", () => {
    const asked = {
      people: 2,
      approvers: ["ana", "bob"],
      self: true,
      within_ms: 9,
      escalate: { after_ms: 5, role: "b" },
    };
    const demand = { role: "cfo", ...asked };
    expect(verdictOn([{ id: "a", kind: "approval", role: "cfo", ...asked }])).toMatchObject({ kind: "hold", demand });
    const plain = { people: 1, self: false };
    expect(verdictOn([{ id: "a", kind: "approval", ...plain }])).toMatchObject({ demand: { role: null } });
    expect(verdictOn([{ id: "a", kind: "confirmation" }])).toMatchObject({
      kind: "hold",
      demand: { role: null, kind: "confirmation" },
      reason: "mail.send needs the approval of a person or the requester",
    });
    const late = { kind: "window", from: "00:00", to: "00:01", outside: "hold", people: 2 };
    expect(verdictOn([{ id: "a", ...late }])).toMatchObject({ demand: { role: null, people: 2 } });
  });
});

describe("a rule applies to", () => {
  const on = (selector: JsonObject, wish: CallOptions = {}) =>
    verdictKind([{ id: "no", kind: "deny", on: selector }], wish) === "refuse";
  const agent = { ...robin, roles: ["operator"] };

  it.each<[string, JsonObject, CallOptions, boolean]>([
    ["every call", {}, {}, true],
    ["tools by name", { tools: ["page.read", "mail.send"] }, {}, true],
    ["tools by name", { tools: ["page.*"] }, {}, false],
    ["effects", { effects: ["external_send"] }, {}, true],
    ["effects", { effects: ["read_only", "writes"] }, {}, false],
    ["the worst effect of a step", { effects: ["acts"] }, { tool: addUp, effect: "acts" }, true],
    ["tags of the step", { tags: ["pii", "other"] }, { tags: ["pii"] }, true],
    ["tags of the tool", { tags: ["pii"] }, { tool: { ...sendMail, tags: ["pii"] }, tags: ["x"] }, true],
    ["tags", { tags: ["pii"] }, { tags: ["x"] }, false],
    ["risks", { risks: ["low"] }, {}, true],
    ["risks", { risks: ["high", "medium"] }, {}, false],
    ["roles", { roles: ["operator"] }, { principal: agent }, true],
    ["one of the roles", { roles: ["operator", "admin"] }, { principal: agent }, true],
    ["roles", { roles: ["admin"] }, { principal: agent }, false],
    ["roles", { roles: ["admin"] }, {}, false],
    ["principals", { principals: ["agent"] }, {}, true],
    ["principals", { principals: ["person", "service"] }, {}, false],
    ["causes", { causes: ["plan"] }, {}, true],
    ["causes", { causes: ["errand", "agent"] }, {}, false],
    ["all fields together", { tools: ["mail.*"], risks: ["low"], effects: ["acts"] }, {}, true],
    ["all fields together", { tools: ["mail.*"], risks: ["high"], effects: ["acts"] }, {}, false],
  ])("%s: %j", (_, selector, wish, expected) => {
    expect(on(selector, wish)).toBe(expected);
  });

  it("a step that an agent proposed", () => {
    const givenRun = given(accepts(null)).when(proposes(step("do", { tool: sendMail })));
    expect(on({ causes: ["agent"] }, { givenRun })).toBe(true);
  });

  it("an undo only if it lists undos, and allow rules do not restrict undos", () => {
    const givenRun = given(accepts(plan(step("send", { tool: { ...sendMail, compensates: true } })))).when(
      does("send"),
      undoes("send"),
    );
    const wish = { givenRun, id: "undo.send.1" };
    expect(on({}, wish)).toBe(false);
    expect(on({ causes: ["undo"] }, wish)).toBe(true);
    expect(verdictKind([{ id: "only", kind: "allow", on: { tools: ["page.*"] } }], wish)).toBe("allow");
  });

  it("calls for which its expression holds, and refuses calls for which it cannot be evaluated", () => {
    const rule = { id: "big", kind: "approval", when: "input.amount > 100" };
    expect(verdictKind([rule], { input: { amount: 101 } })).toBe("hold");
    expect(verdictKind([rule], { input: { amount: 100 } })).toBe("allow");
    expect(refusalMessage(verdictOn([rule], { input: {} }))).toBe(
      'policy global/house/big: input.amount > 100 cannot be evaluated: there is no "amount" in an object',
    );
  });
});

describe("an expression sees", () => {
  it.each([
    "input.to == 'ana'",
    "tool.name == 'mail.send' && tool.effect == 'acts' && tool.risk == 'low' && tool.version == '1' && tool.tags == ['t']",
    "principal.id == 'robin' && principal.kind == 'agent' && principal.roles == [] && size(principal.claims) == 0",
    "run.mode == 'auto_exec' && run.plan_id == 'plan_1' && run.id == run.origin",
    "step.id == 'do' && step.cause == 'plan' && step.attempt == 1",
    "size(context) == 0 && now > 0",
  ])("%s", (expression) => {
    const rule = { id: "x", kind: "require", expression };
    expect(verdictOn([rule], { tags: ["t"] })).toMatchObject({ kind: "allow", basis: { passed: ["global/house/x"] } });
  });
});

describe("an allow rule", () => {
  const only = { id: "only", kind: "allow", on: { tools: ["page.*"] } };

  it("restricts its document to the calls it matches", () => {
    expect(verdictOn([only], { tool: readPage })).toMatchObject({
      kind: "allow",
      basis: { passed: ["global/house/only"] },
    });
    expect(verdictOn([only])).toMatchObject({
      kind: "refuse",
      rule: "global/house/allow",
      fault: { message: "policy global/house/allow: mail.send matches no allow rule" },
    });
  });

  it("can have a condition, and refuses if the condition cannot be evaluated", () => {
    const small = { id: "small", kind: "allow", on: { tools: ["mail.*"] }, when: "input.amount < 10" };
    expect(verdictKind([only, small], { input: { amount: 9 } })).toBe("allow");
    expect(verdictKind([only, small], { input: { amount: 10 } })).toBe("refuse");
    expect(refusalMessage(verdictOn([only, small], { input: {} }))).toContain("cannot be evaluated");
    expect(verdictKind([{ ...small, on: { effects: ["reads"] } }], { input: { amount: 9 } })).toBe("refuse");
  });

  it("applies to its own document: it does not widen another one", () => {
    const mail = policyWith([{ id: "mail", kind: "allow", on: { tools: ["mail.*"] } }], { scope: { tenant: "acme" } });
    const verdict = new CompiledPolicy("v", [policyWith([only]), mail]).judge(callAdmission());
    expect(verdict).toMatchObject({ kind: "refuse", basis: { passed: ["tenant/house/mail"] } });
  });
});

describe("a parameter rule", () => {
  const rule = (must: JsonObject, path = "/v"): Json => ({ id: "p", kind: "parameter", path, must });
  const not = (must_not: JsonObject): Json => ({ id: "p", kind: "parameter", path: "/v", must_not });
  const passes = (checked: Json, v: Json) => verdictKind([checked], { input: { v } }) === "allow";

  it.each<[JsonObject, Json, Json]>([
    [{ equals: { a: 1 } }, { a: 1 }, { a: 2 }],
    [{ equals: null }, null, 0],
    [{ in: ["a", 1] }, 1, "b"],
    [{ contains: "b" }, "abc", "acd"],
    [{ contains: "b" }, ["a", "b"], ["a"]],
    [{ contains: { x: 1 } }, [{ x: 1 }], [{ x: 2 }]],
    [{ matches: "^\\d+$" }, "123", "12a"],
    [{ at_most: 10 }, 10, 11],
    [{ at_least: 10 }, 10, 9],
  ])("%j: %j, not %j", (test, right, wrong) => {
    expect(passes(rule(test), right)).toBe(true);
    expect(passes(rule(test), wrong)).toBe(false);
    expect(passes(not(test), right)).toBe(false);
    expect(passes(not(test), wrong)).toBe(true);
  });

  it("refuses an absent value and a value of another type, with must and with must_not", () => {
    for (const test of [
      { equals: 1 },
      { in: [1] },
      { contains: "a" },
      { matches: "a" },
      { at_most: 1 },
      { at_least: 1 },
    ]) {
      expect(verdictKind([rule(test)], { input: {} })).toBe("refuse");
      expect(verdictKind([not(test)], { input: {} })).toBe("refuse");
    }
    for (const test of [{ contains: "a" }, { matches: "a" }, { at_most: 1 }, { at_least: 1 }]) {
      expect(passes(rule(test), { a: 1 })).toBe(false);
      expect(passes(not(test), { a: 1 })).toBe(false);
    }
    expect(passes(not({ contains: 1 }), "1")).toBe(false);
  });

  it("tests presence and absence", () => {
    expect(passes(rule({ exists: true }), null)).toBe(true);
    expect(passes(rule({ exists: true }, "/w"), 1)).toBe(false);
    expect(passes(not({ exists: true }), 1)).toBe(false);
    expect(verdictKind([not({ exists: true })], { input: {} })).toBe("allow");
  });

  it.each<[Json, string]>([
    [rule({ equals: "a" }), 'policy global/house/p: /v must equal "a"'],
    [not({ equals: 7 }), "policy global/house/p: /v must not equal 7"],
    [
      rule({ contains: "a" }),
      'policy global/house/p: /v must contain "a", which cannot be tested: it is neither a text nor a list',
    ],
    [rule({ in: [1, 2] }), "policy global/house/p: /v must be one of [1,2]"],
    [
      rule({ matches: "^a" }),
      "policy global/house/p: /v must match ^a, which cannot be tested: the value before matches is a number, not a text",
    ],
    [rule({ at_most: 1 }), "policy global/house/p: /v must be at most 1"],
    [rule({ at_least: 9 }), "policy global/house/p: /v must be at least 9"],
    [rule({ exists: true }, "/w"), "policy global/house/p: /w must be present"],
    [rule({ equals: 1 }, ""), "policy global/house/p: the input must equal 1"],
    [
      { ...(rule({ at_most: 1 }) as JsonObject), reason: "too much" },
      "policy global/house/p: too much (/v must be at most 1)",
    ],
  ])("describes its refusal: %j", (checked, message) => {
    expect(refusalMessage(verdictOn([checked], { input: { v: 7 } }))).toBe(message);
  });
});

describe("a require rule", () => {
  const rule = { id: "r", kind: "require", expression: "input.amount <= 10" };

  it("allows calls for which its expression holds, and names it otherwise", () => {
    expect(verdictKind([rule], { input: { amount: 10 } })).toBe("allow");
    expect(refusalMessage(verdictOn([rule], { input: { amount: 11 } }))).toBe(
      "policy global/house/r: input.amount <= 10 is false",
    );
    expect(refusalMessage(verdictOn([{ ...rule, reason: "too much" }], { input: {} }))).toBe(
      'policy global/house/r: too much (input.amount <= 10 cannot be evaluated: there is no "amount" in an object)',
    );
  });
});

describe("a flow rule", () => {
  const pii = { id: "f", kind: "flow", on: { effects: ["external_send"] }, after: { tags: ["pii"] } };
  const story = (...tags: readonly string[]) =>
    given(accepts(plan(step("read", { tool: readPage, policy_tags: tags }), step("do", { tool: sendMail }))));

  it("does not apply before the earlier call", () => {
    expect(verdictKind([pii], { givenRun: story("pii") })).toBe("allow");
    expect(verdictKind([pii], { givenRun: story("other").when(does("read")) })).toBe("allow");
  });

  it("holds matching calls after the earlier call, even if that failed", () => {
    expect(verdictOn([pii], { givenRun: story("pii").when(does("read")) })).toMatchObject({
      kind: "hold",
      rule: "global/house/f",
      reason: "earlier calls of the run require an approval of this one",
      demand: { role: null },
    });
    expect(verdictKind([pii], { givenRun: story("pii").when(starts("read"), fails("read")) })).toBe("hold");
    expect(verdictKind([pii], { givenRun: story("pii").when(does("read")), tool: readPage })).toBe("allow");
  });

  it("needs all of its tags and one of its tools", () => {
    const both = {
      ...pii,
      after: { tags: ["pii", "untrusted"], tools: ["mail.*", "page.*"] },
      answer: "refuse",
      reason: "no",
    };
    expect(verdictKind([both], { givenRun: story("pii").when(does("read")) })).toBe("allow");
    expect(refusalMessage(verdictOn([both], { givenRun: story("pii", "untrusted").when(does("read")) }))).toBe(
      "policy global/house/f: no",
    );
    const other = { ...both, after: { tags: ["pii"], tools: ["crm.*"] } };
    expect(verdictKind([other], { givenRun: story("pii").when(does("read")) })).toBe("allow");
    const tools = { ...pii, after: { tools: ["page.*"] }, role: "cfo" };
    expect(verdictOn([tools], { givenRun: story().when(does("read")) })).toMatchObject({ demand: { role: "cfo" } });
  });
});

describe("layers", () => {
  it("use the strictest mode and step limit, and the trust of every layer", () => {
    const above = policyWith([], { mode: "auto_exec", max_steps: { auto_exec: 10, human_gated: 20 } });
    const below = policyWith([], {
      scope: { tenant: "acme" },
      mode: "draft_only",
      max_steps: { auto_exec: 3 },
      trust: [{ tools: ["mail.*"] }],
    });
    const policy = new CompiledPolicy("v", [above, below]);
    expect(policy.mode).toBe("draft_only");
    expect(policy.maxSteps("auto_exec")).toBe(3);
    expect(policy.maxSteps("human_gated")).toBe(20);
    expect(policy.maxSteps("draft_only")).toBeNull();
    expect(new CompiledPolicy("v", [policyWith([])]).mode).toBeNull();
    expect(policy.trusts({ ...sendMail, risk: "medium" }, 0)).toBe(true);
    expect(policy.trusts({ ...sendMail, risk: "high" }, 0)).toBe(false);
    expect(policy.trusts({ ...readPage, risk: "low" }, 0)).toBe(false);
  });

  it("grant earned trust up to their risk level", () => {
    const trust = [{ tools: ["mail.*"], risk: "medium", after: 3 }];
    const policy = new CompiledPolicy("v", [policyWith([], { trust })]);
    const mail = { ...sendMail, risk: "medium" } as const;
    expect([0, 2, 3, 4].map((earned) => policy.trusts(mail, earned))).toEqual([false, false, true, true]);
    expect(policy.trusts({ ...mail, risk: "high" }, 1000)).toBe(false);
    expect(policy.trusts({ ...readPage, risk: "low" }, 1000)).toBe(false);
    expect([policy.earns(mail), policy.earns({ ...mail, risk: "high" }), policy.earns(readPage)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(new CompiledPolicy("v", [policyWith([], { trust: [{ tools: ["mail.*"] }] })]).earns(mail)).toBe(false);
  });

  it("accept only the roles that they list", () => {
    const roles = { roles: ["operator", "admin"] };
    expect(verdictKind([], { principal: { ...robin, roles: ["operator"] } }, roles)).toBe("allow");
    expect(verdictKind([], {}, roles)).toBe("allow");
    expect(verdictOn([], { principal: { ...robin, roles: ["operator", "root"] } }, roles)).toMatchObject({
      kind: "refuse",
      rule: "global/house/roles",
      fault: { message: "policy global/house/roles: robin has the role root, which the policy does not list" },
    });
  });

  it("have their own rule ids in the record", () => {
    const deny = [{ id: "no", kind: "deny" }];
    const scopes = [{}, { tenant: "acme" }, { tenant: "acme", project: "p" }, { tenant: "acme", session: "s" }];
    const ids = scopes.map((scope) => {
      const verdict = verdictOn(deny, {}, { scope });
      return verdict.kind === "refuse" && verdict.rule;
    });
    expect(ids).toEqual(["global/house/no", "tenant/house/no", "project/house/no", "session/house/no"]);
  });
});
