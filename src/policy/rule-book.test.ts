import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../core/json/json.ts";
import type { Proposal } from "../core/proposal.ts";
import { addUp, plan, readPage, robin, sendMail, step } from "../testing/given/cast.ts";
import { accepts, does, fails, proposes, starts, undoes } from "../testing/given/moves.ts";
import { judged, kind, part, shown, type Wish, why } from "../testing/given/rules.ts";
import { given } from "../testing/given.ts";
import { RuleBook } from "./rule-book.ts";

describe("a policy", () => {
  it("has nothing against what no rule is about, and says which it was", () => {
    expect(judged([])).toEqual({ kind: "allow", basis: { policy: "v1", passed: [], objections: [] } });
  });

  it("has nothing to say about a step that calls nothing", () => {
    const book = new RuleBook("v1", [part([{ id: "all", kind: "deny" }])]);
    expect(book.judge({ ...shown(), proposal: { tool: null } as Proposal })).toEqual({ kind: "allow" });
  });

  it("refuses for every reason at once, and refusing is more than holding", () => {
    const verdict = judged([
      { id: "ask", kind: "approval" },
      { id: "no-mail", kind: "deny", on: { tools: ["mail.*"] }, reason: "nobody mails" },
      { id: "fine", kind: "deny", on: { tools: ["page.*"] } },
      { id: "never", kind: "deny" },
      { id: "small", kind: "parameter", path: "/to", must: { equals: "ana" } },
    ]);
    expect(verdict).toEqual({
      kind: "refuse",
      rule: "global/house/no-mail",
      fault: {
        code: "POLICY_DENIED",
        message: "policy global/house/no-mail: nobody mails; policy global/house/never: mail.send is denied",
      },
      basis: {
        policy: "v1",
        passed: ["global/house/small"],
        objections: [
          { rule: "global/house/ask", says: "hold", reason: "mail.send needs the yes of a person" },
          { rule: "global/house/no-mail", says: "refuse", reason: "nobody mails" },
          { rule: "global/house/never", says: "refuse", reason: "mail.send is denied" },
        ],
      },
    });
  });

  it("holds for all that its rules ask for, each once", () => {
    const ask = (id: string, role?: string): Json => ({ id, kind: "approval", ...(role && { role }) });
    expect(judged([ask("a"), ask("b", "cfo"), ask("c")])).toMatchObject({ kind: "hold", demand: { role: "cfo" } });
    expect(judged([ask("b", "cfo")])).toMatchObject({ reason: "mail.send needs the yes of a cfo" });
    expect(judged([ask("a", "cfo"), ask("b", "nurse"), ask("c")])).toMatchObject({
      kind: "hold",
      demand: { role: "cfo", and: [{ role: "nurse" }] },
    });
  });

  it("asks for as many as it says, of those it says, for as long as it says", () => {
    const asked = {
      people: 2,
      approvers: ["ana", "bob"],
      self: true,
      within_ms: 9,
      escalate: { after_ms: 5, role: "b" },
    };
    const demand = { role: "cfo", ...asked };
    expect(judged([{ id: "a", kind: "approval", role: "cfo", ...asked }])).toMatchObject({ kind: "hold", demand });
    const plain = { people: 1, self: false };
    expect(judged([{ id: "a", kind: "approval", ...plain }])).toMatchObject({ demand: { role: null } });
    expect(judged([{ id: "a", kind: "confirmation" }])).toMatchObject({
      kind: "hold",
      demand: { role: null, kind: "confirmation" },
      reason: "mail.send needs the yes of a person or whoever asked",
    });
    const late = { kind: "window", from: "00:00", to: "00:01", outside: "hold", people: 2 };
    expect(judged([{ id: "a", ...late }])).toMatchObject({ demand: { role: null, people: 2 } });
  });
});

describe("a rule is for", () => {
  const on = (selector: JsonObject, wish: Wish = {}) =>
    kind([{ id: "no", kind: "deny", on: selector }], wish) === "refuse";
  const agent = { ...robin, roles: ["operator"] };

  it.each<[string, JsonObject, Wish, boolean]>([
    ["everything", {}, {}, true],
    ["tools by name", { tools: ["page.read", "mail.send"] }, {}, true],
    ["tools by name", { tools: ["page.*"] }, {}, false],
    ["effects", { effects: ["external_send"] }, {}, true],
    ["effects", { effects: ["read_only", "writes"] }, {}, false],
    ["the worst that a step does", { effects: ["acts"] }, { tool: addUp, effect: "acts" }, true],
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
    ["all of them together", { tools: ["mail.*"], risks: ["low"], effects: ["acts"] }, {}, true],
    ["all of them together", { tools: ["mail.*"], risks: ["high"], effects: ["acts"] }, {}, false],
  ])("%s: %j", (_, selector, wish, is) => {
    expect(on(selector, wish)).toBe(is);
  });

  it("an agent's own step", () => {
    const told = given(accepts(null)).when(proposes(step("do", { tool: sendMail })));
    expect(on({ causes: ["agent"] }, { told })).toBe(true);
  });

  it("an undo only if it says so, and no list of what is allowed is about one", () => {
    const told = given(accepts(plan(step("send", { tool: { ...sendMail, compensates: true } })))).when(
      does("send"),
      undoes("send"),
    );
    const wish = { told, id: "undo.send.1" };
    expect(on({}, wish)).toBe(false);
    expect(on({ causes: ["undo"] }, wish)).toBe(true);
    expect(kind([{ id: "only", kind: "allow", on: { tools: ["page.*"] } }], wish)).toBe("allow");
  });

  it("what its expression holds for, and refuses what that cannot be answered for", () => {
    const rule = { id: "big", kind: "approval", when: "input.amount > 100" };
    expect(kind([rule], { input: { amount: 101 } })).toBe("hold");
    expect(kind([rule], { input: { amount: 100 } })).toBe("allow");
    expect(why(judged([rule], { input: {} }))).toBe(
      'policy global/house/big: input.amount > 100 cannot be answered: there is no "amount" in an object',
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
    expect(judged([rule], { tags: ["t"] })).toMatchObject({ kind: "allow", basis: { passed: ["global/house/x"] } });
  });
});

describe("what is allowed", () => {
  const only = { id: "only", kind: "allow", on: { tools: ["page.*"] } };

  it("is all there is, once something is", () => {
    expect(judged([only], { tool: readPage })).toMatchObject({
      kind: "allow",
      basis: { passed: ["global/house/only"] },
    });
    expect(judged([only])).toMatchObject({
      kind: "refuse",
      rule: "global/house/allow",
      fault: { message: "policy global/house/allow: mail.send is not among what is allowed" },
    });
  });

  it("may depend on a condition, and is refused where that has no answer", () => {
    const small = { id: "small", kind: "allow", on: { tools: ["mail.*"] }, when: "input.amount < 10" };
    expect(kind([only, small], { input: { amount: 9 } })).toBe("allow");
    expect(kind([only, small], { input: { amount: 10 } })).toBe("refuse");
    expect(why(judged([only, small], { input: {} }))).toContain("cannot be answered");
    expect(kind([{ ...small, on: { effects: ["reads"] } }], { input: { amount: 9 } })).toBe("refuse");
  });

  it("is a matter of each document: what one allows does not widen another", () => {
    const mail = part([{ id: "mail", kind: "allow", on: { tools: ["mail.*"] } }], { scope: { tenant: "acme" } });
    const verdict = new RuleBook("v", [part([only]), mail]).judge(shown());
    expect(verdict).toMatchObject({ kind: "refuse", basis: { passed: ["tenant/house/mail"] } });
  });
});

describe("a parameter", () => {
  const rule = (must: JsonObject, path = "/v"): Json => ({ id: "p", kind: "parameter", path, must });
  const not = (must_not: JsonObject): Json => ({ id: "p", kind: "parameter", path: "/v", must_not });
  const passes = (of: Json, v: Json) => kind([of], { input: { v } }) === "allow";

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
  ])("%j: %j, not %j", (demanded, right, wrong) => {
    expect(passes(rule(demanded), right)).toBe(true);
    expect(passes(rule(demanded), wrong)).toBe(false);
    expect(passes(not(demanded), right)).toBe(false);
    expect(passes(not(demanded), wrong)).toBe(true);
  });

  it("that is not there, or of another kind, is refused whether it must be so or must not", () => {
    for (const demanded of [
      { equals: 1 },
      { in: [1] },
      { contains: "a" },
      { matches: "a" },
      { at_most: 1 },
      { at_least: 1 },
    ]) {
      expect(kind([rule(demanded)], { input: {} })).toBe("refuse");
      expect(kind([not(demanded)], { input: {} })).toBe("refuse");
    }
    for (const demanded of [{ contains: "a" }, { matches: "a" }, { at_most: 1 }, { at_least: 1 }]) {
      expect(passes(rule(demanded), { a: 1 })).toBe(false);
      expect(passes(not(demanded), { a: 1 })).toBe(false);
    }
    expect(passes(not({ contains: 1 }), "1")).toBe(false);
  });

  it("must be there, or must not", () => {
    expect(passes(rule({ exists: true }), null)).toBe(true);
    expect(passes(rule({ exists: true }, "/w"), 1)).toBe(false);
    expect(passes(not({ exists: true }), 1)).toBe(false);
    expect(kind([not({ exists: true })], { input: {} })).toBe("allow");
  });

  it.each<[Json, string]>([
    [rule({ equals: "a" }), 'policy global/house/p: /v must equal "a"'],
    [not({ equals: 7 }), "policy global/house/p: /v must not equal 7"],
    [
      rule({ contains: "a" }),
      'policy global/house/p: /v must contain "a", and that cannot be judged: it is neither a text nor a list',
    ],
    [rule({ in: [1, 2] }), "policy global/house/p: /v must be one of [1,2]"],
    [
      rule({ matches: "^a" }),
      "policy global/house/p: /v must match ^a, and that cannot be judged: what is matched is a number, not a text",
    ],
    [rule({ at_most: 1 }), "policy global/house/p: /v must be at most 1"],
    [rule({ at_least: 9 }), "policy global/house/p: /v must be at least 9"],
    [rule({ exists: true }, "/w"), "policy global/house/p: /w must be there"],
    [rule({ equals: 1 }, ""), "policy global/house/p: the input must equal 1"],
    [
      { ...(rule({ at_most: 1 }) as JsonObject), reason: "too much" },
      "policy global/house/p: too much (/v must be at most 1)",
    ],
  ])("is refused in words: %j", (of, message) => {
    expect(why(judged([of], { input: { v: 7 } }))).toBe(message);
  });
});

describe("a condition that has to hold", () => {
  const rule = { id: "r", kind: "require", expression: "input.amount <= 10" };

  it("lets pass what it holds for, and says what does not", () => {
    expect(kind([rule], { input: { amount: 10 } })).toBe("allow");
    expect(why(judged([rule], { input: { amount: 11 } }))).toBe(
      "policy global/house/r: input.amount <= 10 does not hold",
    );
    expect(why(judged([{ ...rule, reason: "too much" }], { input: {} }))).toBe(
      'policy global/house/r: too much (input.amount <= 10 cannot be answered: there is no "amount" in an object)',
    );
  });
});

describe("what may follow what", () => {
  const pii = { id: "f", kind: "flow", on: { effects: ["external_send"] }, after: { tags: ["pii"] } };
  const story = (...tags: readonly string[]) =>
    given(accepts(plan(step("read", { tool: readPage, policy_tags: tags }), step("do", { tool: sendMail }))));

  it("is nobody's business before it happened", () => {
    expect(kind([pii], { told: story("pii") })).toBe("allow");
    expect(kind([pii], { told: story("other").when(does("read")) })).toBe("allow");
  });

  it("is held once the run has read it, though the reading failed, and only what the rule is for", () => {
    expect(judged([pii], { told: story("pii").when(does("read")) })).toMatchObject({
      kind: "hold",
      rule: "global/house/f",
      reason: "the run has touched what this must not follow without a person's yes",
      demand: { role: null },
    });
    expect(kind([pii], { told: story("pii").when(starts("read"), fails("read")) })).toBe("hold");
    expect(kind([pii], { told: story("pii").when(does("read")), tool: readPage })).toBe("allow");
  });

  it("takes every tag, and one of the tools", () => {
    const both = {
      ...pii,
      after: { tags: ["pii", "untrusted"], tools: ["mail.*", "page.*"] },
      answer: "refuse",
      reason: "no",
    };
    expect(kind([both], { told: story("pii").when(does("read")) })).toBe("allow");
    expect(why(judged([both], { told: story("pii", "untrusted").when(does("read")) }))).toBe(
      "policy global/house/f: no",
    );
    const other = { ...both, after: { tags: ["pii"], tools: ["crm.*"] } };
    expect(kind([other], { told: story("pii").when(does("read")) })).toBe("allow");
    const tools = { ...pii, after: { tools: ["page.*"] }, role: "cfo" };
    expect(judged([tools], { told: story().when(does("read")) })).toMatchObject({ demand: { role: "cfo" } });
  });
});

describe("the layers", () => {
  it("ask for the strictest mode, the fewest steps, and trust what anyone above trusts", () => {
    const above = part([], { mode: "auto_exec", max_steps: { auto_exec: 10, human_gated: 20 } });
    const below = part([], {
      scope: { tenant: "acme" },
      mode: "draft_only",
      max_steps: { auto_exec: 3 },
      trust: [{ tools: ["mail.*"] }],
    });
    const book = new RuleBook("v", [above, below]);
    expect(book.mode).toBe("draft_only");
    expect(book.stepsMost("auto_exec")).toBe(3);
    expect(book.stepsMost("human_gated")).toBe(20);
    expect(book.stepsMost("draft_only")).toBeNull();
    expect(new RuleBook("v", [part([])]).mode).toBeNull();
    expect(book.trusts({ ...sendMail, risk: "medium" }, 0)).toBe(true);
    expect(book.trusts({ ...sendMail, risk: "high" }, 0)).toBe(false);
    expect(book.trusts({ ...readPage, risk: "low" }, 0)).toBe(false);
  });

  it("trust what was earned, up to the risk that they say and no further", () => {
    const trust = [{ tools: ["mail.*"], risk: "medium", after: 3 }];
    const book = new RuleBook("v", [part([], { trust })]);
    const mail = { ...sendMail, risk: "medium" } as const;
    expect([0, 2, 3, 4].map((earned) => book.trusts(mail, earned))).toEqual([false, false, true, true]);
    expect(book.trusts({ ...mail, risk: "high" }, 1000)).toBe(false);
    expect(book.trusts({ ...readPage, risk: "low" }, 1000)).toBe(false);
    expect([book.earns(mail), book.earns({ ...mail, risk: "high" }), book.earns(readPage)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(new RuleBook("v", [part([], { trust: [{ tools: ["mail.*"] }] })]).earns(mail)).toBe(false);
  });

  it("know only the roles that they name", () => {
    const roles = { roles: ["operator", "admin"] };
    expect(kind([], { principal: { ...robin, roles: ["operator"] } }, roles)).toBe("allow");
    expect(kind([], {}, roles)).toBe("allow");
    expect(judged([], { principal: { ...robin, roles: ["operator", "root"] } }, roles)).toMatchObject({
      kind: "refuse",
      rule: "global/house/roles",
      fault: { message: "policy global/house/roles: robin has the role root, which the policy does not know" },
    });
  });

  it("name themselves in the record", () => {
    const deny = [{ id: "no", kind: "deny" }];
    const scopes = [{}, { tenant: "acme" }, { tenant: "acme", project: "p" }, { tenant: "acme", session: "s" }];
    const ids = scopes.map((scope) => {
      const verdict = judged(deny, {}, { scope });
      return verdict.kind === "refuse" && verdict.rule;
    });
    expect(ids).toEqual(["global/house/no", "tenant/house/no", "project/house/no", "session/house/no"]);
  });
});
