import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { judgeVerb } from "../../src/core/approval/judge-verb.ts";
import type { Principal } from "../../src/core/approval/principal.ts";
import type { Verb } from "../../src/core/approval/verb-rules.ts";
import type { FaultCode } from "../../src/core/values/fault.ts";
import type { Json } from "../../src/core/values/json.ts";
import type { Engine, EngineOptions, PrincipalInput } from "../../src/engine/api/engine-api.ts";
import type { OpenRun } from "../../src/engine/api/open-run-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { botAgent, type EngineFixture } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

export const tenant = "acme";
export const chief: PrincipalInput = { id: "cy", kind: "person", tenant, roles: ["chief", "operator"] };
const notes = defineSlice({ name: "notes", shape: "list", entry: {} });

/** The principals of the generated table. The agent `bot` submits the runs that verbs are used on. */
export const principals: Readonly<Record<string, PrincipalInput>> = {
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

export interface World {
  readonly engine: Engine;
  readonly stage: EngineFixture;
}

export type Options = { readonly principal: PrincipalInput } & Readonly<Record<string, never>>;

/** How to use one verb: it prepares its object with other principals, and returns the use. */
export interface Sample {
  prepare(world: World): Promise<(options: Options) => unknown>;
  /** The submitter and the project of its object. Default: no object. */
  readonly on?: { readonly by: string | null; readonly project: string | null } | "own";
  /** The fault of a principal of another tenant. Default: it uses the verb in its own tenant. */
  readonly elsewhere?: FaultCode;
  /** Faults that show that the use was allowed. */
  readonly fails?: readonly FaultCode[];
}

export const plan = (name: string) => ({ steps: [{ step_id: "a", name, payload: { word: "hello" } }] });
const botRun = { by: "bot", project: "p" };
export const policy = (name: string) => ({ schema_version: "1.0", name, scope: { tenant }, rules: [] });

export async function submitted({ engine }: Pick<World, "engine">, name: string) {
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
  also: Pick<Sample, "fails"> = {},
) => ({
  ...also,
  ...plain(async (engine, { principal, ...more }) => use(await engine.openRun({ principal, session: "chat" }), more)),
  on: "own" as const,
});

const writing = { id: "1", tool: "write", input: { word: "hello" } };

/** Begins a call, and returns its token. */
async function begun(run: OpenRun): Promise<string | null> {
  const answer = await run.beginCall(writing);
  return "go" in answer ? answer.token : null;
}

export const side = "before" as const;
const halts = (engine: Engine) => engine.halts.set({ principal: chief, reason: "stop" });
const schedules = (engine: Engine) => engine.schedules.set("s", plan("write"), { principal: chief, cron: "0 * * * *" });
const inProject = { on: { by: null, project: "p" } };

function newBackupFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-verbs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "backup.db");
}

export const samples: Readonly<
  Record<
    Exclude<
      Verb,
      "backup:everything" | "serve" | "observers" | "authenticate" | "close" | "tools.put" | "tools.remove"
    >,
    Sample
  >
> = {
  submit: plain((engine, options) => engine.submit(plan("write"), options)),
  call: plain((engine, options) => engine.call("write", { word: "hello" }, options)),
  simulate: plain((engine, options) => engine.simulate(plan("write"), options)),
  check: plain((engine, { principal: _principal, ...options }) => engine.check(plan("write"), options)),
  signal: plain((engine, options) => engine.signal("go", null, options)),
  run: onRun("write", (engine, id, options) => engine.run(id, options)),
  "run.result": onHandle((run, more) => run.result(more)),
  "run.finished": onRun("write", async (engine, id, { principal, ...more }) =>
    (await engine.run(id, { principal })).finished(more),
  ),
  "run.now": onHandle((run) => run.now()),
  "run.events": onHandle(async (run, more) => {
    for await (const { event } of run.events(more)) if (event.type === "run.ended") return;
  }),
  "run.transcript": onHandle((run) => run.transcript()),
  "run.changes": onHandle((run) => run.changes()),
  "run.replay": onHandle((run) => run.replay()),
  "run.turns": onHandle((run) => run.turns()),
  "run.blob": onRun(
    "mail",
    async (engine, runId, { principal, ...more }) => {
      const run = await engine.run(runId, { principal });
      return run.blob({ blob: "0".repeat(64), bytes: 1, ...more });
    },
    { fails: ["STEP_NOT_FOUND"] },
  ),
  "run.cancel": onHandle((run, more) => run.cancel(more)),
  openRun: plain((engine, options) => engine.openRun({ ...options, session: "chat" })),
  "openRun.callTool": inSession((run, more) => run.callTool(writing, more)),
  "openRun.callTools": inSession((run, more) => run.callTools([writing], more)),
  "openRun.beginCall": inSession((run, more) => run.beginCall(writing, more)),
  "openRun.endCall": inSession(async (run, more) => {
    const token = await begun(run); // None if the principal may not call the tool.
    return token === null ? null : run.endCall(token, { output: {}, ...more });
  }),
  "openRun.recordModelCall": inSession((run, more) =>
    run
      .recordModelCall({ messages: [] }, () => ({}), more)
      .catch((error: Error) => {
        if (!error.message.includes("writ.model")) throw error; // Else its capabilities do not include it, on the record.
      }),
  ),
  "openRun.findCall": inSession((run, more) => run.findCall("1", more)),
  "openRun.markDelivered": inSession(async (run, more) => {
    await run.callTool(writing);
    await run.markDelivered("1", { to: "editor", ...more });
  }),
  "openRun.confirmCall": inSession((run, more) => run.confirmCall("1", more), { fails: ["NOT_POSSIBLE"] }),
  "openRun.turns": inSession((run) => run.turns()),
  "openRun.close": inSession((run, more) => run.close(more)),
  "openRun.release": inSession((run) => run.release()),
  endCall: {
    prepare: async ({ engine }) => {
      const token = await begun(await engine.openRun({ principal: botAgent, session: "chat" }));
      return (options) => engine.endCall(token ?? "", { ...options, output: {} });
    },
    elsewhere: "AUTH_FORBIDDEN",
  },
  resume: onRun("fail", (engine, id, options) => engine.resume(id, options)),
  "resume:parked": {
    prepare: async (world) => {
      const { run_id } = await submitted(world, "mail");
      await world.engine.adoptBackup({ principal: chief });
      return (options) => world.engine.resume(run_id, options);
    },
    on: botRun,
    elsewhere: "RUN_NOT_FOUND",
  },
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
  "checkpoints.take": plain((engine, options) => engine.checkpoints.take({ ...options, project: "p" })),
  "checkpoints.get": onRun("write", (engine, runId, options) =>
    engine.checkpoints.get({ runId, stepId: "a", side }, options),
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
  "sessions.open": plain((engine, options) => engine.sessions.open({ ...options, session: "desk" })),
  "sessions.exists": plain((engine, options) => engine.sessions.exists("desk", options)),
  "sessions.close": {
    ...plain(
      (engine, options) => engine.sessions.close("desk", options),
      (engine) => engine.sessions.open({ principal: botAgent, session: "desk" }),
    ),
    on: { by: "bot", project: null },
  },
  "projects.list": plain((engine, options) => engine.projects.list(options)),
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
  "policies.get": {
    ...plain(
      (engine, options) => engine.policies.get("calm", options),
      (engine) => engine.policies.set(policy("calm"), { principal: chief }),
    ),
    elsewhere: "NOT_POSSIBLE",
  },
  "policies.history": plain((engine, options) => engine.policies.history(options)),
  "policies.test": {
    ...plain((engine, options) => engine.policies.test(policy("calm"), options)),
    elsewhere: "POLICY_INVALID",
  },
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
  inDoubt: plain((engine, options) => engine.inDoubt(options)),
  outcomes: plain((engine, options) => engine.outcomes(options)),
  changes: plain((engine, options) =>
    engine.changes({ signal: AbortSignal.abort(), ...options } as Parameters<Engine["changes"]>[0]),
  ),
  "tools.list": plain((engine, options) => engine.tools.list(options)),
  "tools.activity": { ...plain((engine, options) => engine.tools.activity(options)), on: "own" },
  runs: plain((engine, options) => engine.runs(options)),
  gates: plain((engine, options) => engine.gates(options)),
  gate: onGate((engine, gate, options) => engine.gate(gate, options)),
  outcome: {
    prepare: async ({ engine }) => {
      const [step] = plan("write").steps;
      const steps = [{ ...step, outcome: { type: "Note", status: "final" } }];
      const run = await engine.submit({ steps }, { principal: botAgent, project: "p" });
      const { outcomes } = await run.result();
      return (options) => engine.outcome(outcomes[0]?.outcome_id ?? "", options);
    },
    on: botRun,
    elsewhere: "OUTCOME_NOT_FOUND",
  },
  act: {
    prepare: async (world) => {
      const run = await submitted(world, "mail");
      const [gate] = (await run.result()).gates;
      await world.engine.approve(gate?.gate_id ?? "", { principal: chief });
      await run.result();
      let key = "";
      for await (const { event } of run.events()) if (event.type === "step.started") key = event.call.key ?? "";
      return (options) => world.engine.act(key, options);
    },
    on: botRun,
    elsewhere: "ACT_NOT_FOUND",
  },
  workers: plain((engine, options) => engine.workers(options)),
  cost: onRun("write", (engine, id, options) => engine.cost(id, options)),
  spent: plain((engine, options) => engine.spent({ ...options, period: "2023-11" })),
  spentByDay: {
    ...plain((engine, options) => engine.spentByDay({ ...options, from: "2023-11-01", to: "2023-11-30" })),
    on: "own",
  },
  budgets: {
    ...plain((engine, options) => engine.budgets({ ...options, by: "bot" })),
    on: { by: "bot", project: null },
  },
  audit: onRun("write", (engine, runId, options) => engine.audit({ ...options, runId })),
  forget: plain((engine, options) => engine.forget({ ...options, session: "chat" })),
  retain: plain((engine, options) => engine.retain({ ...options, endedBefore: 0 })),
  retentions: plain((engine, options) => engine.retentions(options)),
  // Only a store in a file can be copied.
  backup: { ...plain((engine, options) => engine.backup(newBackupFile(), options)), fails: ["NOT_POSSIBLE"] },
  backups: plain((engine, options) => engine.backups(options)),
  adoptBackup: plain((engine, options) => engine.adoptBackup(options)),
};

/** Returns the fault code that the table demands, or null if the principal may use the verb. */
export function expectedCode(
  verb: Verb,
  principal: PrincipalInput,
  { on, elsewhere = null as never }: Pick<Sample, "on" | "elsewhere">,
): FaultCode | null {
  const isOwn = ["runs", "gates", "inDoubt", "outcomes", "changes"].includes(verb) || on === "own";
  const target = isOwn ? { by: principal.id, project: null } : (on ?? { by: null, project: null });
  if (principal.tenant !== tenant) return elsewhere;
  const facts = { ...target, admin: "chief" };
  // A handle comes from `run`, so a method of a handle needs both.
  const handle = verb.startsWith("run.") ? judgeVerb(principal as Principal, "run", facts) : null;
  return (handle ?? judgeVerb(principal as Principal, verb, facts))?.code ?? null;
}

/** The tools, slices and settings that the samples use. */
export function worldOptions() {
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
  return { tools, slices: [notes], tenants: { acme: settings } };
}

export async function newWorld(stage: EngineFixture, more: Partial<EngineOptions> = {}): Promise<World> {
  return { engine: await stage.open({ ...worldOptions(), ...more }), stage };
}
