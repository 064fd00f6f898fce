import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newProjectFolder } from "./project-folder.ts";
import { runCli } from "./run-cli.ts";

const house = {
  schema_version: "1.0",
  name: "house",
  rules: [
    { id: "no-shell", kind: "deny", on: { tools: ["shell.*"] } },
    { id: "big", kind: "approval", on: { tools: ["pay"] }, when: "input.amount > 100", role: "cfo" },
    { id: "leak", kind: "flow", on: { effects: ["external_send"] }, after: { tags: ["pii"] } },
    { id: "hours", kind: "window", on: { tools: ["pay"] }, from: "08:00", to: "18:00" },
  ],
};

describe("writ policy", () => {
  let cwd: string;
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), "writ-cli-"));
  });
  afterEach(() => rmSync(cwd, { recursive: true }));

  const write = (name: string, value: unknown) => writeFileSync(join(cwd, name), JSON.stringify(value));
  const answered = async (...args: readonly string[]) => {
    const { exit, out } = await runCli(cwd, "policy", ...args, "--json");
    return { exit, answer: JSON.parse(out) as Record<string, unknown> };
  };

  it("check accepts a policy or reports every problem", async () => {
    write("house.json", house);
    expect(await runCli(cwd, "policy", "check", "house.json")).toMatchObject({
      exit: 0,
      out: "house.json is valid: house, for global, 4 rules\n",
    });
    expect(await answered("check", "house.json")).toMatchObject({
      exit: 0,
      answer: { ok: true, name: "house", scope: {}, rules: house.rules.map(({ id }) => `global/house/${id}`) },
    });
    write("broken.json", { ...house, mode: "yolo", rules: [{ id: "a", kind: "deny", when: "process.exit()" }] });
    expect(await answered("check", "broken.json")).toMatchObject({
      exit: 2,
      answer: {
        fault: { code: "POLICY_INVALID", detail: { reasons: [{ path: "/mode" }, { path: "/rules/0/when" }] } },
      },
    });
    expect(await answered("check", "missing.json")).toMatchObject({
      exit: 2,
      answer: { fault: { code: "POLICY_INVALID" } },
    });
  });

  const cases = [
    { name: "a shell", tool: { name: "shell.run" }, expect: "refuse", rule: "global/house/no-shell" },
    { name: "a small payment", tool: { name: "pay" }, input: { amount: 100 }, expect: "allow" },
    { name: "a big payment", tool: { name: "pay" }, input: { amount: 101 }, expect: "hold", rule: "global/house/big" },
    { name: "at night", tool: { name: "pay" }, input: { amount: 1 }, at: "2026-11-16T03:00:00Z", expect: "refuse" },
    { name: "mail", tool: { name: "mail" }, expect: "allow" },
    { name: "mail after reading", tool: { name: "mail" }, after: [{ name: "crm", tags: ["pii"] }], expect: "hold" },
    { name: "gated", tool: { name: "mail" }, mode: "human_gated", expect: "hold", rule: "mode" },
  ];

  it("test runs every case through the engine", async () => {
    write("house.json", house);
    write("cases.json", { policies: ["house.json"], cases });
    const { exit, answer } = await answered("test", "cases.json");
    expect(answer).toMatchObject({ cases: cases.length, wrong: 0 });
    expect(exit).toBe(0);
  });

  it("test counts the calls before a limited one", async () => {
    const limits = [
      { id: "rare", kind: "rate", on: { tools: ["mail"] }, calls: 2, per: "tenant-minute" },
      { id: "money", kind: "budget", on: { tools: ["ask"] }, unit: "credits", limit: 5, per: "run" },
    ];
    const [mail, ask] = [
      { name: "mail", effect: "reads" },
      { name: "ask", effect: "reads", cost: { credits: 3 } },
    ];
    const table = [
      { tool: mail, after: [mail], expect: "allow" },
      { tool: mail, after: [mail, mail], expect: "wait", rule: "global/house/rare" },
      { tool: ask, expect: "allow" },
      { tool: ask, after: [ask], expect: "refuse", rule: "global/house/money" },
    ];
    write("cases.json", { policies: [{ ...house, rules: limits }], cases: table });
    expect(await answered("test", "cases.json")).toMatchObject({ exit: 0, answer: { cases: 4, wrong: 0 } });
  });

  it("test gives rules the state of the case", async () => {
    const ship = { tool: { name: "ship" }, input: { order: "o/1" } };
    const paid = { order: ["orders", { input: "/order" }] };
    const rules = [{ id: "paid", kind: "state", state: paid, expression: "state.order.status == 'paid'" }];
    const table = [
      { ...ship, state: { orders: { "o/1": { status: "paid" } } }, expect: "allow" },
      { ...ship, state: { orders: { "o/1": { status: "open" } } }, expect: "refuse", rule: "global/house/paid" },
      { ...ship, state: { orders: {} }, expect: "refuse", rule: "global/house/paid" },
      { ...ship, input: { order: 0 }, state: { orders: [{ status: "paid" }] }, expect: "allow" },
      { ...ship, expect: "refuse", rule: "global/house/paid" },
    ];
    write("cases.json", { policies: [{ ...house, rules }], cases: table });
    expect(await answered("test", "cases.json")).toMatchObject({ exit: 0, answer: { cases: 5, wrong: 0 } });
    for (const state of [7, { "a b": {} }, { orders: 7 }]) {
      write("cases.json", { policies: [{ ...house, rules }], cases: [{ ...ship, state, expect: "allow" }] });
      expect(await answered("test", "cases.json")).toMatchObject({ exit: 2 });
    }
  });

  it("test reports every case with another verdict and fails", async () => {
    write("cases.json", {
      policies: [house],
      cases: [{ ...cases[1], expect: "refuse" }, { ...cases[2], rule: "other" }, cases[4]],
    });
    const { exit, out } = await runCli(cwd, "policy", "test", "cases.json");
    expect(exit).toBe(4);
    expect(out).toBe(
      [
        "wrong  a small payment  expected refuse, found allow",
        "wrong  a big payment    expected hold by other, found hold by global/house/big: pay needs the approval of a cfo",
        "ok     mail             allow",
        "3 cases, 2 wrong",
        "",
      ].join("\n"),
    );
  });

  it.each([
    ["no policies", { cases }, "has no policies"],
    ["no cases", { policies: [house] }, "at least one case"],
    [
      "a case that expects nothing",
      { policies: [house], cases: [{ tool: { name: "a" } }] },
      "expect is allow, hold, refuse or wait",
    ],
    [
      "a case with an unknown field",
      { policies: [house], cases: [{ ...cases[0], tools: [] }] },
      "tools is not a field",
    ],
    [
      "a tool with an unknown effect",
      { policies: [house], cases: [{ ...cases[0], tool: { name: "a", effect: "x" } }] },
      "tool is",
    ],
    [
      "a tool that defineTool refuses",
      { policies: [house], cases: [{ ...cases[0], tool: { name: "a", risk: "x" } }] },
      "tool is",
    ],
    ["a time that is not valid", { policies: [house], cases: [{ ...cases[0], at: "noon" }] }, "at is a time"],
    ["an unknown mode", { policies: [house], cases: [{ ...cases[0], mode: "yolo" }] }, "mode is one of"],
    [
      "a call that is not reached",
      { policies: [house], cases: [{ ...cases[4], after: [{ name: "shell.x" }] }] },
      "was not judged",
    ],
  ])("test refuses %s", async (_, table, why) => {
    write("cases.json", table);
    const { exit, answer } = await answered("test", "cases.json");
    expect(exit).toBe(2);
    expect(answer).toMatchObject({ fault: { message: expect.stringContaining(why) } });
  });
});

describe("writ explain", () => {
  let cwd: string;
  beforeEach(() => {
    cwd = newProjectFolder();
    const config = join(cwd, "writ.config.mjs");
    const policy = {
      schema_version: "1.0",
      name: "house",
      rules: [
        { id: "ask", kind: "approval", reason: "notes are read by people" },
        { id: "small", kind: "require", expression: "size(input) < 9" },
      ],
    };
    const text = readFileSync(config, "utf8").replace(
      "tools: [send]",
      `tools: [send], policies: [${JSON.stringify(policy)}]`,
    );
    writeFileSync(config, text);
  });
  afterEach(() => rmSync(cwd, { recursive: true }));

  it("prints from the journal which rule held the call, who approved it and which rules passed", async () => {
    const { out } = await runCli(cwd, "run", "plan.json", "--json");
    const { run_id, gates } = JSON.parse(out) as { run_id: string; gates: readonly { gate_id: string }[] };
    const held = await runCli(cwd, "explain", run_id, "send");
    expect(held.exit).toBe(0);
    expect(held.out).toMatch(
      /^send is waiting_approval\n {2}\S.* held by global\/house\/ask for a person: notes are read by people\n/,
    );
    expect(held.out).toContain("global/house/ask says hold: notes are read by people");
    expect(held.out).toContain(
      "mode says hold: note.send acts on the world, and a person approves the acts of this run (human_gated)",
    );
    expect(held.out).toContain("no objection: global/house/small");
    expect(held.out).toMatch(/policy pol_[0-9a-f]{32}/);
    await runCli(cwd, "approve", gates[0]?.gate_id as string, "--reason", "fine");
    await runCli(cwd, "resume", run_id);
    const { decisions } = JSON.parse((await runCli(cwd, "explain", run_id, "send", "--json")).out) as {
      decisions: readonly { decision: string; who: string | null; reason: string }[];
    };
    expect(decisions.map(({ decision, who }) => [decision, who])).toEqual([
      ["held", "a person"],
      ["approved", "ana"],
      ["let through", null],
    ]);
    expect(decisions[1]?.reason).toBe("fine");
    expect(decisions[2]?.reason).toBe("a person approved exactly this call");
  });

  it("reports unknown runs and steps", async () => {
    const { out } = await runCli(cwd, "run", "plan.json", "--json");
    const { run_id } = JSON.parse(out) as { run_id: string };
    expect((await runCli(cwd, "explain", run_id, "other")).exit).toBe(5);
    expect((await runCli(cwd, "explain", "run_x", "send")).exit).toBe(5);
  });
});
