import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { judgeVerb } from "../../src/core/approval/judge-verb.ts";
import type { Principal } from "../../src/core/approval/principal.ts";
import { type Verb, type VerbRule, verbRules } from "../../src/core/approval/verb-rules.ts";
import { type FaultCode, FaultError } from "../../src/core/values/fault.ts";
import type { Json } from "../../src/core/values/json.ts";
import type { Engine, PrincipalInput } from "../../src/engine/api/engine-api.ts";
import { type EngineVerb, verbOptions } from "../../src/engine/api/read-options.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const tenant = "acme";
const chief: PrincipalInput = { id: "cy", kind: "person", tenant, roles: ["chief", "operator"] };
const notes = defineSlice({ name: "notes", shape: "list", entry: {} });

/** The principals of the generated table. The agent `bot` submits the runs that verbs are used on. */
const principals: Readonly<Record<string, PrincipalInput>> = {
  "agent without rights": {
    id: "shy",
    kind: "agent",
    tenant,
    capabilities: [{ tools: { allow: [] }, state_reads: [], state_writes: [] }],
  },
  agent: botAgent,
  "another agent": { id: "rob", kind: "agent", tenant },
  "person without rights": { ...chief, id: "di", capabilities: [{ tools: { allow: [] }, state_reads: [] }] },
  "person without role": { id: "ana", kind: "person", tenant },
  person: { ...chief, id: "bo" },
  service: { id: "cron", kind: "service", tenant, roles: ["chief"] },
  "person of another tenant": { ...chief, tenant: "globex" },
};

interface World {
  readonly engine: Engine;
  readonly stage: EngineFixture;
}

type Options = { readonly principal: PrincipalInput } & Readonly<Record<string, never>>;

/** How to use one verb: it prepares its object with other principals, and returns the use. */
interface Sample {
  prepare(world: World): Promise<(options: Options) => unknown>;
  /** The submitter and the project of its object. Default: no object. */
  readonly on?: { readonly by: string | null; readonly project: string | null } | "own";
  /** The fault of a principal of another tenant. Default: it uses the verb in its own tenant. */
  readonly elsewhere?: FaultCode;
  /** Faults that show that the use was allowed. */
  readonly fails?: readonly FaultCode[];
}

const plan = (name: string) => ({ steps: [{ step_id: "a", name, payload: { word: "hello" } }] });
const botRun = { by: "bot", project: "p" };
const policy = (name: string) => ({ schema_version: "1.0", name, scope: { tenant }, rules: [] });

async function submitted({ engine }: World, name: string) {
  const run = await engine.submit(plan(name), { principal: botAgent, project: "p" });
  await run.result();
  return run;
}

/** A verb on a run of the bot in a project. */
function onRun(
  name: string,
  use: (engine: Engine, runId: string, options: Options) => unknown,
  more: Partial<Sample> = {},
) {
  return {
    prepare: async (world: World) => {
      const { run_id } = await submitted(world, name);
      return (options: Options) => use(world.engine, run_id, options);
    },
    on: botRun,
    elsewhere: "RUN_NOT_FOUND",
    ...more,
  } satisfies Sample;
}

/** A verb on a held call of the bot. */
function onGate(use: (engine: Engine, gate: string, options: Options) => unknown): Sample {
  return {
    prepare: async (world) => {
      const { gates } = await (await submitted(world, "mail")).result();
      return (options) => use(world.engine, gates[0]?.gate_id ?? "", options);
    },
    on: { by: "bot", project: null },
    elsewhere: "GATE_NOT_FOUND",
  };
}

/** A verb on the tenant, after `before`. */
function plain(
  use: (engine: Engine, options: Options) => unknown,
  before?: (engine: Engine) => Promise<unknown>,
): Sample {
  return {
    prepare: async ({ engine }) => {
      await before?.(engine);
      return (options) => use(engine, options);
    },
  };
}

/** A method of the handle of a run. */
const onHandle = (use: (run: Awaited<ReturnType<Engine["run"]>>, more: Readonly<Record<string, never>>) => unknown) =>
  onRun("mail", async (engine, runId, { principal, ...more }) => use(await engine.run(runId, { principal }), more));

/** A method of the open run of a session of the principal itself. */
const inSession = (
  use: (run: Awaited<ReturnType<Engine["openRun"]>>, more: Readonly<Record<string, never>>) => unknown,
) => ({
  ...plain(async (engine, { principal, ...more }) => use(await engine.openRun({ principal, session: "chat" }), more)),
  on: "own" as const,
});

const writing = { id: "1", tool: "write", input: { word: "hello" } };
const side = "before" as const;
const halts = (engine: Engine) => engine.halts.set({ principal: chief, reason: "stop" });
const schedules = (engine: Engine) => engine.schedules.set("s", plan("write"), { principal: chief, cron: "0 * * * *" });
const inProject = { on: { by: null, project: "p" } };

const backups = mkdtempSync(join(tmpdir(), "writ-verbs-"));
afterAll(() => rmSync(backups, { recursive: true }));
let backupFiles = 0;
const newBackupFile = (): string => join(backups, `${backupFiles++}.db`);

const samples: Readonly<
  Record<Exclude<Verb, "resume:parked" | "backup:everything" | "serve" | "observers" | "close">, Sample>
> = {
  submit: plain((engine, options) => engine.submit(plan("write"), options)),
  call: plain((engine, options) => engine.call("write", { word: "hello" }, options)),
  simulate: plain((engine, options) => engine.simulate(plan("write"), options)),
  check: plain((engine, { principal: _principal, ...options }) => engine.check(plan("write"), options)),
  signal: plain((engine, options) => engine.signal("go", null, options)),
  run: onRun("write", (engine, id, options) => engine.run(id, options)),
  "run.result": onHandle((run) => run.result()),
  "run.finished": onRun("write", async (engine, id, options) => (await engine.run(id, options)).finished()),
  "run.now": onHandle((run) => run.now()),
  "run.events": onHandle(async (run, more) => {
    for await (const { event } of run.events(more)) if (event.type === "run.ended") return;
  }),
  "run.transcript": onHandle((run) => run.transcript()),
  "run.cancel": onHandle((run, more) => run.cancel(more)),
  openRun: plain((engine, options) => engine.openRun({ ...options, session: "chat" })),
  "openRun.callTool": inSession((run, more) => run.callTool(writing, more)),
  "openRun.callTools": inSession((run, more) => run.callTools([writing], more)),
  "openRun.findCall": inSession((run, more) => run.findCall("1", more)),
  "openRun.turns": inSession((run) => run.turns()),
  "openRun.close": inSession((run, more) => run.close(more)),
  "openRun.release": inSession((run) => run.release()),
  resume: onRun("fail", (engine, id, options) => engine.resume(id, options)),
  approve: onGate((engine, gate, options) => engine.approve(gate, options)),
  reject: onGate((engine, gate, options) => engine.reject(gate, options)),
  resolve: onRun("doubt", (engine, id, options) => engine.resolve(id, "a", { ...options, as: "absent" })),
  "resolve:verify": onRun("doubt", (engine, id, options) => engine.resolve(id, "a", { ...options, as: "verify" }), {
    fails: ["NOT_POSSIBLE"],
  }),
  verify: onRun("doubt", (engine, id, options) => engine.verify(id, options)),
  undo: onRun("doubt", (engine, id, options) => engine.undo(id, options)),
  state: { ...plain((engine, options) => engine.state({ ...options, project: "p" })), ...inProject },
  "checkpoints.list": {
    ...plain((engine, options) => engine.checkpoints.list({ ...options, project: "p" })),
    ...inProject,
  },
  "checkpoints.diff": onRun("write", (engine, runId, options) =>
    engine.checkpoints.diff({ runId, stepId: "a", side }, { runId, stepId: "a", side: "after" }, options),
  ),
  "checkpoints.load": {
    prepare: async (world) => {
      await submitted(world, "write");
      const snapshot = (await world.engine.state({ principal: chief, project: "p" })).snapshot();
      return (options) => world.engine.checkpoints.load(snapshot, options);
    },
  },
  "checkpoints.restore": onRun("write", (engine, runId, options) =>
    engine.checkpoints.restore({ runId, stepId: "a", side }, options),
  ),
  "checkpoints.fork": onRun("write", (engine, runId, options) =>
    engine.checkpoints.fork({ runId, stepId: "a", side }, options),
  ),
  "projects.history": { ...plain((engine, options) => engine.projects.history("p", options)), ...inProject },
  "projects.closure": { ...plain((engine, options) => engine.projects.closure("p", options)), ...inProject },
  "projects.close": plain((engine, options) => engine.projects.close("p", { ...options, as: "locked" })),
  "projects.open": {
    ...plain(
      (engine, options) => engine.projects.open("p", options),
      (engine) => engine.projects.close("p", { principal: chief, as: "locked" }),
    ),
    elsewhere: "NOT_POSSIBLE",
  },
  "projects.revert": plain((engine, options) => engine.projects.revert("p", 0, options)),
  "schedules.set": plain((engine, options) =>
    engine.schedules.set("s", plan("write"), { ...options, cron: "0 * * * *" }),
  ),
  "schedules.pause": {
    ...plain((engine, options) => engine.schedules.pause("s", options), schedules),
    elsewhere: "SCHEDULE_NOT_FOUND",
  },
  "schedules.resume": {
    ...plain((engine, options) => engine.schedules.resume("s", options), schedules),
    elsewhere: "SCHEDULE_NOT_FOUND",
  },
  "schedules.remove": {
    ...plain((engine, options) => engine.schedules.remove("s", options), schedules),
    elsewhere: "SCHEDULE_NOT_FOUND",
  },
  "schedules.list": plain((engine, options) => engine.schedules.list(options)),
  "policies.set": {
    ...plain((engine, options) => engine.policies.set(policy("calm"), options)),
    elsewhere: "POLICY_INVALID",
  },
  "policies.remove": {
    ...plain(
      (engine, options) => engine.policies.remove("calm", options),
      (engine) => engine.policies.set(policy("calm"), { principal: chief }),
    ),
    elsewhere: "NOT_POSSIBLE",
  },
  "policies.list": plain((engine, options) => engine.policies.list(options)),
  "halts.set": onRun("mail", (engine, runId, options) => engine.halts.set({ ...options, reason: "stop", runId })),
  "halts.set:tenant": plain((engine, options) => engine.halts.set({ ...options, reason: "stop" })),
  "halts.set:everything": plain((engine, options) =>
    engine.halts.set({ ...options, reason: "stop", everything: true }),
  ),
  "halts.lift": { ...plain((engine, options) => engine.halts.lift(options), halts), elsewhere: "NOT_POSSIBLE" },
  "halts.lift:everything": plain(
    (engine, options) => engine.halts.lift({ ...options, everything: true }),
    (engine) => engine.halts.set({ principal: chief, reason: "stop", everything: true }),
  ),
  "halts.list": plain((engine, options) => engine.halts.list(options)),
  // A list leaves out what the principal may not read, so every principal of the table's kinds may ask for it.
  runs: plain((engine, options) => engine.runs(options)),
  gates: plain((engine, options) => engine.gates(options)),
  gate: onGate((engine, gate, options) => engine.gate(gate, options)),
  workers: plain((engine, options) => engine.workers(options)),
  cost: onRun("write", (engine, id, options) => engine.cost(id, options)),
  spent: plain((engine, options) => engine.spent({ ...options, period: "2023-11" })),
  budgets: {
    ...plain((engine, options) => engine.budgets({ ...options, by: "bot" })),
    on: { by: "bot", project: null },
  },
  audit: onRun("write", (engine, runId, options) => engine.audit({ ...options, runId })),
  retain: plain((engine, options) => engine.retain({ ...options, endedBefore: 0 })),
  retentions: plain((engine, options) => engine.retentions(options)),
  // Only a store in a file can be copied.
  backup: { ...plain((engine, options) => engine.backup(newBackupFile(), options)), fails: ["NOT_POSSIBLE"] },
  backups: plain((engine, options) => engine.backups(options)),
  adoptBackup: plain((engine, options) => engine.adoptBackup(options)),
};

async function newWorld(stage: EngineFixture): Promise<World> {
  const tools = [
    scriptedTool(
      "write",
      ({ context, input }) => {
        context.slice(notes).append(input as Json);
        return {};
      },
      { effect: "writes" },
    ),
    scriptedTool("mail", () => ({})),
    scriptedTool("doubt", () => {
      throw new Error("the connection was reset");
    }),
    scriptedTool(
      "fail",
      () => {
        throw new Error("not now");
      },
      { effect: "reads" },
    ),
  ].map(({ tool }) => tool);
  const settings = { mode: "human_gated", admin: "chief", trust: ["doubt"] } as const;
  const engine = await stage.open({ tools, slices: [notes], tenants: { acme: settings } });
  return { engine, stage };
}

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

/** Returns the fault code that the table demands, or null if the principal may use the verb. */
function expectedCode(
  verb: Verb,
  principal: PrincipalInput,
  { on, elsewhere = null as never }: Sample,
): FaultCode | null {
  const isOwn = verb === "runs" || verb === "gates" || on === "own";
  const target = isOwn ? { by: principal.id, project: null } : (on ?? { by: null, project: null });
  if (principal.tenant !== tenant) return elsewhere;
  const facts = { ...target, admin: "chief" };
  // A handle comes from `run`, so a method of a handle needs both.
  const handle = verb.startsWith("run.") ? judgeVerb(principal as Principal, "run", facts) : null;
  return (handle ?? judgeVerb(principal as Principal, verb, facts))?.code ?? null;
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

  it.each(["deny", "approval"])("are refused by a tenant's policy with a rule of kind %s", async (kind) => {
    const world = await newWorld(newFixture());
    const { engine } = world;
    const { run_id: runId } = await submitted(world, "write");
    const on = { tools: ["checkpoints.*", "retain"] };
    const rules = [{ id: "calm", kind, on, ...(kind === "deny" && { reason: "not today" }) }];
    await engine.policies.set({ ...policy("calm"), rules }, { principal: chief, reason: "an audit is under way" });
    const at = { runId, stepId: "a", side } as const;
    const before = await world.stage.dump();
    for (const use of [
      () => engine.checkpoints.restore(at, { principal: chief }),
      () => engine.checkpoints.fork(at, { principal: chief }),
      () => engine.retain({ principal: chief, endedBefore: 0 }),
    ])
      expect((await faultOf(use)).code).toBe("POLICY_DENIED");
    expect(await world.stage.dump()).toEqual(before);
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
      ...(policed ? ["policy"] : []),
    ];
    return `| \`${verb}\` | ${agent} | ${service} | ${person} | ${needs.join(", ")} | ${records ? `\`${records}\`` : ""} |`;
  });
  return [
    "# Permissions",
    "",
    "Every method of the engine is judged by this table before it does anything; the command line uses the same methods.",
    "`tests/engine/verbs.test.ts` generates this page and tries every method with every kind of principal. A refusal is",
    "[`AUTH_FORBIDDEN`](errors.md). A tenant's settings, its policies and capabilities can only narrow the table.",
    "",
    "- **no**: refused. **own**: the runs that the principal submitted. **project**: its own runs, and the projects of its",
    "  tenant with their runs. **tenant**: everything in its tenant. Other tenants' objects do not exist for it.",
    "- **role `admin`**: the role that `tenants.<tenant>.admin` names; if it names none, no role is needed.",
    "- **capability**: a principal with capabilities needs each of them to allow the name of the method, like a tool.",
    "- **policy**: the tenant's policies judge the method like a call of a tool with its name and the effect `writes`. A",
    "  rule that demands an approval refuses it, because only calls can wait for an approval.",
    "- A principal that is restricted to parts of the state reads neither other principals' runs nor the history.",
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
    expect((await rejectedFault(engine.runs({ principal: chief, project: "p" } as never))).code).toBe("INVALID_INPUT");
    const at = { runId: "run_1", stepId: "a", sides: "after" } as never;
    expect((await rejectedFault(engine.checkpoints.restore(at, { principal: chief }))).message).toContain("side?");
  });
});
