import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { cel } from "../../src/expression/cel.ts";
import { parsePolicy } from "../../src/policy/parser/parse-policy.ts";
import { repositoryPath } from "../repo/repository-path.ts";

const schema = JSON.parse(readFileSync(repositoryPath("docs/policy.schema.json"), "utf8")) as object;
const fits = new Ajv2020({ strict: false }).compile(schema);
const whole = { schema_version: "1.0", name: "house" };
const rule = (more: object) => ({ ...whole, rules: [{ id: "r", ...more }] });
const parameter = { kind: "parameter", path: "/a/~1b" };
const hours = { kind: "window", from: "22:00", to: "06:00" };

const right: readonly object[] = [
  whole,
  { ...whole, scope: { tenant: "a", project: "p", session: "s" }, roles: ["cfo"], mode: "dry_run" },
  { ...whole, max_steps: { auto_exec: 0, dry_run: 10_000 }, trust: [{ tools: ["a.*"], risk: "high", after: 5 }] },
  ...["allow", "deny", "approval"].map((kind) => rule({ kind, when: "now > 0", reason: "because" })),
  rule({ kind: "deny", on: { tools: ["*"], effects: ["external_send"], tags: ["a:b"], risks: ["low"] } }),
  rule({ kind: "deny", on: { roles: ["x"], principals: ["agent"], causes: ["undo"] } }),
  rule({ ...parameter, must: { equals: null } }),
  rule({ ...parameter, must_not: { in: [1, "a"] } }),
  rule({ ...parameter, path: "", must: { contains: { a: 1 } } }),
  ...[{ matches: "^a$" }, { at_most: 1.5 }, { at_least: -1 }, { exists: true }].map((must) =>
    rule({ ...parameter, must }),
  ),
  rule({ kind: "require", expression: "input.a == 1" }),
  rule({ kind: "approval", role: "cfo" }),
  rule({ kind: "approval", role: null }),
  rule({ kind: "approval", people: 2, approvers: ["ana", "bob"], self: true, within_ms: 1000 }),
  rule({ kind: "approval", people: null, self: false, escalate: { after_ms: 1, role: "board" } }),
  rule({ kind: "flow", after: { tags: ["pii"] }, people: 2, escalate: { after_ms: 1, approvers: ["ana"] } }),
  rule({ kind: "confirmation" }),
  rule({ ...hours, days: ["sun"], zone: "Asia/Kolkata", outside: "hold", role: "cfo" }),
  rule({ ...hours, to: "24:00" }),
  rule({ kind: "flow", after: { tags: ["pii"] } }),
  rule({ kind: "flow", after: { tools: ["crm.*"], tags: ["a"] }, answer: "refuse" }),
  rule({ kind: "state", state: { a: "/orders/first/a~1b" }, expression: "state.a == input.b", on: { tools: ["a"] } }),
  rule({ kind: "state", state: { a: ["orders", { input: "/id" }, "x"], b: "/b/" }, expression: "has(state.a)" }),
  rule({ kind: "invariant", state: { a: "/orders/a", b: ["a", "0"] }, expression: "state.a > 0", reason: "so" }),
  rule({ kind: "invariant", slice: "orders", expression: "entry.a > 0 && key != ''" }),
  rule({ kind: "rate", calls: 5, per: "user-minute", on: { tags: ["mail"] }, when: "input.a == 1", reason: "enough" }),
  rule({ kind: "budget", unit: "usd_micros", limit: 0, per: "project-day", zone: "Asia/Kolkata" }),
  rule({ kind: "budget", unit: "calls", limit: 1_000_000_000_000_000, per: "call" }),
];

const wrong: readonly unknown[] = [
  [],
  null,
  { name: "house" },
  { ...whole, schema_version: "2.0" },
  { ...whole, name: "a b" },
  { ...whole, extra: 1 },
  { ...whole, scope: { project: "p" } },
  { ...whole, scope: { tenant: "" } },
  { ...whole, roles: [] },
  { ...whole, mode: "yolo" },
  { ...whole, max_steps: { yolo: 1 } },
  { ...whole, max_steps: { auto_exec: -1 } },
  { ...whole, trust: [{}] },
  { ...whole, trust: [{ tools: ["a"], after: 0 }] },
  { ...whole, rules: {} },
  ...[
    {},
    { kind: "yolo" },
    { kind: "deny", role: "x" },
    { kind: "confirmation", role: "x" },
    { kind: "approval", people: 0 },
    { kind: "approval", people: "2" },
    { kind: "approval", approvers: [] },
    { kind: "approval", self: 1 },
    { kind: "approval", within_ms: 0 },
    { kind: "approval", escalate: { after_ms: 5 } },
    { kind: "approval", escalate: { after_ms: 5, role: null } },
    { kind: "approval", escalate: { role: "x" } },
    { kind: "deny", on: { tool: ["x"] } },
    { kind: "deny", on: { tools: [] } },
    { kind: "deny", on: { tools: ["a b"] } },
    { kind: "deny", on: { effects: ["toString"] } },
    { kind: "deny", on: { tags: ["a b"] } },
    { kind: "deny", on: { risks: ["tiny"] } },
    { kind: "deny", when: 1 },
    { kind: "deny", when: "" },
    { kind: "require" },
    { kind: "approval", role: 1 },
    parameter,
    { ...parameter, must: { equals: 1 }, must_not: { equals: 2 } },
    { ...parameter, path: "a", must: { equals: 1 } },
    { ...parameter, must: {} },
    { ...parameter, must: { equals: 1, in: [] } },
    { ...parameter, must: { exists: false } },
    { ...parameter, must: { at_most: "1" } },
    { ...parameter, must: { matches: 1 } },
    { ...hours, from: "9" },
    { kind: "window", from: "09:00" },
    { ...hours, days: ["monday"] },
    { ...hours, outside: "allow" },
    { kind: "flow" },
    { kind: "flow", after: {} },
    { kind: "flow", after: { tag: "x" } },
    { kind: "flow", after: { tags: ["x"] }, answer: "allow" },
    { kind: "state", expression: "true" },
    { kind: "state", state: {}, expression: "true" },
    { kind: "state", state: [], expression: "true" },
    { kind: "state", state: { a: "/orders/a" } },
    { kind: "state", state: { a: "/orders/a" }, expression: 1 },
    { kind: "state", state: { a: "/orders" }, expression: "true" },
    { kind: "state", state: { a: "orders/a" }, expression: "true" },
    { kind: "state", state: { a: "//a" }, expression: "true" },
    { kind: "state", state: { a: ["orders"] }, expression: "true" },
    { kind: "state", state: { a: ["", "a"] }, expression: "true" },
    { kind: "state", state: { a: [{ input: "/a" }, "a"] }, expression: "true" },
    { kind: "state", state: { a: ["orders", { input: "a" }] }, expression: "true" },
    { kind: "state", state: { a: ["orders", { input: "/a", or: 1 }] }, expression: "true" },
    { kind: "state", state: { a: ["orders", 0] }, expression: "true" },
    { kind: "state", state: { A: "/orders/a" }, expression: "true" },
    { kind: "state", state: { "a-b": "/orders/a" }, expression: "true" },
    { kind: "invariant", expression: "true" },
    { kind: "invariant", slice: "orders" },
    { kind: "invariant", slice: "or/ders", expression: "true" },
    { kind: "invariant", slice: "orders", state: { a: "/orders/a" }, expression: "true" },
    { kind: "invariant", state: { a: ["orders", { input: "/a" }] }, expression: "true" },
    { kind: "invariant", slice: "orders", expression: "true", on: { tools: ["a"] } },
    { kind: "invariant", slice: "orders", expression: "true", when: "true" },
    { kind: "rate", calls: 5 },
    { kind: "rate", per: "user-minute" },
    { kind: "rate", calls: 0, per: "user-minute" },
    { kind: "rate", calls: 1.5, per: "user-minute" },
    { kind: "rate", calls: null, per: "user-minute" },
    { kind: "rate", calls: 5, per: "user-day" },
    { kind: "rate", calls: 5, per: "user-minute", tool: "x" },
    { kind: "rate", calls: 5, per: "user-minute", zone: "UTC" },
    { kind: "budget", unit: "usd_micros", per: "run" },
    { kind: "budget", unit: "euros", limit: 5, per: "run" },
    { kind: "budget", unit: "credits", limit: -1, per: "run" },
    { kind: "budget", unit: "credits", limit: 2e15, per: "run" },
    { kind: "budget", unit: "credits", limit: 5, per: "user-minute" },
    { kind: "budget", limit: 5, per: "run" },
  ].map(rule),
];

/** Policies with a valid form but invalid content, which the schema cannot detect. */
const invalidContent: readonly object[] = [
  { ...whole, roles: ["cfo"], rules: [{ id: "a", kind: "approval", role: "nurse" }] },
  { ...whole, scope: { tenant: "a", project: "p" }, trust: [{ tools: ["a"] }] },
  {
    ...whole,
    rules: [
      { id: "a", kind: "deny" },
      { id: "a", kind: "deny" },
    ],
  },
  rule({ kind: "require", expression: "1 +" }),
  rule({ kind: "require", expression: "state.a == 1" }),
  rule({ kind: "invariant", slice: "orders", expression: "input.a == 1" }),
  rule({ kind: "invariant", state: { a: "/orders/a" }, expression: "entry == 1" }),
  rule({ kind: "require", expression: "secrets.key == ''" }),
  rule({ ...parameter, must: { matches: "(" } }),
  rule({ ...hours, zone: "Mars/Base" }),
  rule({ kind: "budget", unit: "credits", limit: 5, per: "user-day", zone: "Mars/Base" }),
  rule({ ...hours, from: "06:00" }),
];

describe("docs/policy.schema.json", () => {
  it.each(right)("accepts a readable policy: %j", (document) => {
    expect(parsePolicy(document, cel)).toMatchObject({ ok: true });
    expect(fits(document)).toBe(true);
  });

  it.each(wrong.map((document) => [document]))("refuses an unreadable policy: %j", (document) => {
    expect(parsePolicy(document, cel)).toMatchObject({ ok: false });
    expect(fits(document)).toBe(false);
  });

  it.each(invalidContent)("accepts the form of a policy whose content is refused later: %j", (document) => {
    expect(parsePolicy(document, cel)).toMatchObject({ ok: false });
    expect(fits(document)).toBe(true);
  });
});
