import { describe, expect, it } from "vitest";
import { type VerbRule, verbRules } from "../../src/core/approval/verb-rules.ts";
import { type FaultCode, FaultError } from "../../src/core/values/fault.ts";
import type { PrincipalInput } from "../../src/engine/api/engine-api.ts";
import { type EngineVerb, verbOptions } from "../../src/engine/api/verb-options.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault } from "./scripted-tool.ts";
import {
  chief,
  expectedCode,
  newWorld,
  type Options,
  plan,
  policy,
  principals,
  samples,
  side,
  submitted,
} from "./verb-samples.ts";

/** Returns the code of the fault of a use, or null. */
async function faultCodeOf(use: () => unknown): Promise<FaultCode | null> {
  try {
    await use();
    return null;
  } catch (error) {
    if (error instanceof FaultError) return error.fault.code;
    throw error;
  }
}

const verbs = Object.keys(samples) as (keyof typeof samples)[];

describe.each(storeKinds)("every verb by every principal, on $name", ({ newFixture }) => {
  it.each(verbs)("%s answers as the table says", async (verb) => {
    const sample = samples[verb];
    const rule: VerbRule = verbRules[verb];
    for (const [who, principal] of Object.entries(principals)) {
      const world = await newWorld(newFixture());
      const use = await sample.prepare(world);
      const before = await world.stage.dump();
      const expected = expectedCode(verb, principal, sample);
      const code = await faultCodeOf(() => use({ principal } as Options));
      const allowed = expected === null && sample.fails?.includes(code as FaultCode);
      expect(allowed ? null : code, `${who}: ${verb}`).toBe(expected);
      if (code === "AUTH_FORBIDDEN" && !rule.contested) expect(await world.stage.dump(), who).toEqual(before);
    }
  });

  it("lists to an agent only its own runs and gates", async () => {
    const world = await newWorld(newFixture());
    await submitted(world, "mail");
    const [rob, bot] = [principals["another agent"] as PrincipalInput, botAgent];
    const { engine } = world;
    const own = await engine.submit(plan("mail"), { principal: rob });
    await own.result();
    expect(await engine.runs({ principal: rob })).toMatchObject([{ run_id: own.run_id }]);
    expect(await engine.gates({ principal: rob })).toMatchObject([{ run_id: own.run_id }]);
    expect(await engine.runs({ principal: bot, limit: 1 })).toMatchObject([{ principal: "bot" }]);
    expect(await engine.runs({ principal: chief })).toHaveLength(2);
  });

  it.each(verbs.filter((verb) => !verb.includes(":")))("%s refuses an option that does not exist", async (verb) => {
    const use = await samples[verb].prepare(await newWorld(newFixture()));
    const options = { principal: chief, frobnicate: true } as unknown as Options;
    const names = Object.keys(verbOptions[verb as EngineVerb]);
    const refused = faultOf(() => use(options));
    if (names.length === 0) return;
    expect(await refused).toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining("frobnicate") });
  });
});

describe.each(storeKinds)("administrative verbs, on $name", ({ newFixture }) => {
  it("record a retention: who erased, when, why and how much", async () => {
    const world = await newWorld(newFixture());
    const { engine, stage } = world;
    await submitted(world, "write");
    stage.clock.advance(1000);
    const endedBefore = stage.clock.now();
    const { runs, events, waiting, snapshots } = await engine.retain({ principal: chief, endedBefore, reason: "old" });
    expect(runs).toBe(1);
    expect(await engine.retentions({ principal: chief })).toEqual([
      {
        at: endedBefore,
        by: "cy",
        reason: "old",
        ended_before: endedBefore,
        erased: { runs, events, waiting, snapshots },
      },
    ]);
    expect(await engine.retentions({ principal: { ...chief, tenant: "globex" } })).toEqual([]);
    expect(await engine.audit({ principal: chief })).toMatchObject({ broken: [] });
  });

  it("record a retention that a crash cuts off", async () => {
    const world = await newWorld(newFixture());
    await submitted(world, "write");
    const store = world.stage.store();
    const erase = () => Promise.reject(new FaultError({ code: "STORE_FAILED", message: "the disk is gone" }));
    const cleaner = await world.stage.open({ tools: [], work: false, store: { ...store, erase } });
    world.stage.clock.advance(1000);
    await rejectedFault(cleaner.retain({ principal: chief, endedBefore: world.stage.clock.now() }));
    expect(await cleaner.retentions({ principal: chief })).toMatchObject([{ by: "cy", erased: null }]);
  });

  it("are refused by a tenant's policy with a rule of kind deny, and the refusal is on record", async () => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    const { run_id: runId } = await submitted(world, "write");
    const rules = [{ id: "calm", kind: "deny", on: { tools: ["checkpoints.*", "retain"] }, reason: "not today" }];
    await engine.policies.set({ ...policy("calm"), rules }, { principal: chief, reason: "an audit is under way" });
    const at = { runId, stepId: "a", side } as const;
    for (const [verb, use] of [
      ["checkpoints.restore", () => engine.checkpoints.restore(at, { principal: chief })],
      ["checkpoints.fork", () => engine.checkpoints.fork(at, { principal: chief })],
      ["retain", () => engine.retain({ principal: chief, endedBefore: 0 })],
    ] as const) {
      const refused = await faultOf(use);
      expect(refused).toMatchObject({ code: "POLICY_DENIED", message: expect.stringContaining("not today") });
      const { run_id } = refused.detail as { readonly run_id: string };
      const recorded = await (await engine.run(run_id, { principal: chief })).result();
      expect(recorded).toMatchObject({ status: "failed", steps: { request: { state: "rejected" } } });
      const listed = await engine.runs({ principal: chief, status: "rejected" });
      expect(listed.find((run) => run.run_id === run_id)).toMatchObject({ principal: "cy" });
      expect(JSON.stringify(await (await engine.run(run_id, { principal: chief })).transcript())).toContain(verb);
    }
    expect(await engine.retentions({ principal: chief })).toEqual([]);
    await engine.policies.remove("calm", { principal: chief });
    expect(await engine.checkpoints.restore(at, { principal: chief })).toMatchObject({ version: 2 });
  });

  it("schedule plans of an agent, with the capabilities of the principal that sets the schedule", async () => {
    const { engine, stage } = await newWorld(newFixture());
    const capabilities = [{ tools: { deny: ["write"] } }];
    const setting = { principal: { ...chief, capabilities }, runAs: botAgent, cron: "0 * * * *" };
    await engine.schedules.set("s", plan("write"), setting);
    stage.clock.advance(3_600_000);
    for (let second = 0; second < 5; second += 1) await stage.advance(1000);
    const [run] = await engine.runs({ principal: botAgent });
    expect(run).toMatchObject({ principal: "bot", status: "rejected" });
    for (const runAs of [chief, { ...botAgent, tenant: "globex" }])
      expect((await rejectedFault(engine.schedules.set("t", plan("write"), { ...setting, runAs }))).code).toBe(
        "AUTH_FORBIDDEN",
      );
  });
});

function permissionsPage(): string {
  const rows = Object.entries(verbRules).map(([verb, rule]: [string, VerbRule]) => {
    const { agent, service, person, role, capability, policy: policed, records } = rule;
    const needs = [
      ...(role === undefined ? [] : [`role \`${role}\``]),
      ...(capability ? ["capability"] : []),
      ...(policed === undefined ? [] : [policed === "any" ? "policy" : "policy by name"]),
    ];
    return `| \`${verb}\` | ${agent} | ${service} | ${person} | ${needs.join(", ")} | ${records ? `\`${records}\`` : ""} |`;
  });
  return [
    "# Permissions",
    "",
    "Every method of the engine is judged by this table before it does anything; the command line uses the same methods.",
    "`tests/engine/verbs.test.ts` generates this page and tries every method with every kind of principal;",
    "`tests/cli/commands-and-permissions.test.ts` tries every command. A refusal is [`AUTH_FORBIDDEN`](errors.md). A",
    "tenant's settings, its policies and capabilities can only narrow the table.",
    "",
    "- **no**: refused. **own**: the runs that the principal submitted. **project**: its own runs, and the projects of its",
    "  tenant with their runs. **tenant**: everything in its tenant. Other tenants' objects do not exist for it.",
    "- **role `admin`**: the role that `tenants.<tenant>.admin` names; if it names none, no role is needed.",
    "- **capability**: a principal with capabilities needs each of them to allow the name of the method, like a tool.",
    "- **policy**: the tenant's policies judge the method like a call of a tool with its name and the effect `writes`. A",
    "  rule can refuse it or hold it for an approval ([policies](guides/policies.md)). A refusal is on record as a run.",
    "- **policy by name**: the same, only by rules whose `tools` name the method, such as `policies.*`. A rule without",
    "  `tools`, or for `*`, is about calls of tools. No policy keeps a person with the role `operator` from `policies.*`.",
    "- `halts.set` and `adoptBackup` stop work, so no policy can hold or refuse them.",
    "- A principal that is restricted to parts of the state reads neither other principals' runs nor the history.",
    "- `tools.put` and `tools.remove` have no principal: the tools are configuration of the program, like the options of",
    "  `createEngine`. So are `serve`, `observers`, `authenticate` and `close`.",
    "- `records` is the event that says who did it, when and why. Calls inside a run are judged one by one.",
    "",
    "| method | agent | service | person | needs | records |",
    "|---|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

async function faultOf(use: () => unknown) {
  return rejectedFault(Promise.resolve().then(use));
}

describe("the table of verbs", () => {
  it("is the one that docs/permissions.md shows", async () => {
    await expect(permissionsPage()).toMatchFileSnapshot(repositoryPath("docs/permissions.md"));
  });

  it("has a row for every method of the engine, of its parts and of a run handle, and no other", () => {
    const rows = new Set(Object.keys(verbRules).map((verb) => verb.split(":")[0]));
    expect([...rows].sort()).toEqual(Object.keys(verbOptions).sort());
  });

  it("names the nearest option of a misspelt one", async () => {
    const [memory] = storeKinds;
    const { engine } = await newWorld((memory as (typeof storeKinds)[number]).newFixture());
    const approving = engine.approve("gate_1", { principal: chief, diggest: "x" } as never);
    expect((await rejectedFault(approving)).message).toContain("did you mean digest?");
    expect((await rejectedFault(engine.runs({ principal: chief, projekt: "p" } as never))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(engine.serve({ sigal: null } as never))).message).toContain("did you mean signal?");
    const at = { runId: "run_1", stepId: "a", sides: "after" } as never;
    expect((await rejectedFault(engine.checkpoints.restore(at, { principal: chief }))).message).toContain("side?");
  });
});
