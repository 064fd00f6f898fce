import { NO_FACTS, type VerbTarget } from "../core/approval/judge-verb.ts";
import type { Principal } from "../core/approval/principal.ts";
import type { Verb } from "../core/approval/verb-rules.ts";
import type { InputOf, Tool } from "../core/tool/tool.ts";
import type { Json } from "../core/values/json.ts";
import type { RunTarget, VerbJudge } from "./admin/verb-judge.ts";
import type { Checkpoints } from "./api/checkpoint-api.ts";
import type { Engine, ResolveOptions, SubmitOptions } from "./api/engine-api.ts";
import type { HaltOptions, Halts } from "./api/halt-api.ts";
import type { EngineLists } from "./api/list-api.ts";
import type { NamedSessions } from "./api/named-sessions-api.ts";
import type { TenantPolicies } from "./api/policy-api.ts";
import type { ProjectApi } from "./api/project-api.ts";
import type { Schedules } from "./api/schedule-api.ts";
import type { CheckpointRef, StateSelector } from "./api/state-api.ts";
import { assertKnownFields, readOptions } from "./api/verb-options.ts";
import type { HeldVerbs } from "./held-verbs.ts";
import { judgedHandle } from "./judged-handle.ts";
import { judgedOpenRun } from "./judged-open-run.ts";
import { parseSnapshotId } from "./state/snapshot-id.ts";
import type { VerbEngine } from "./verb-methods.ts";

/**
 * Wraps the public surface of an engine: each method reads its options, refuses unknown ones, and has its use judged
 * before the engine does anything. A caller has no other access to the engine.
 */
export function judgedEngine(engine: VerbEngine, judge: VerbJudge, held: HeldVerbs): Engine {
  return {
    ...judgedRuns(engine, judge, held),
    ...judgedDecisions(engine, judge, held),
    ...judgedReports(engine, judge),
    signal: async (key, payload, given) => engine.signal(key, payload, judge.judge("signal", given)),
    retain: async (given) => held.use("retain", judge.judge("retain", given), {}),
    forget: async (given) => held.use("forget", judge.judge("forget", given), {}),
    backup: async (file, given) =>
      held.use("backup", await judge.judgeStoreUse("backup", "backup:everything", given), { file }),
    backups: async (given) => engine.backups(judge.judge("backups", given)),
    adoptBackup: async (given) => engine.adoptBackup(judge.judge("adoptBackup", given)),
    checkpoints: judgedCheckpoints(engine.checkpoints, judge, held),
    sessions: judgedNamedSessions(engine.sessions, judge),
    projects: judgedProjects(engine.projects, judge, held),
    schedules: judgedSchedules(engine.schedules, judge, held),
    policies: judgedPolicies(engine.policies, judge, held),
    halts: judgedHalts(engine.halts, judge, held),
    tools: {
      put: async (tools, given = {}) => engine.tools.put(tools, readOptions("tools.put", given)),
      remove: async (names) => engine.tools.remove(names),
      list: async (given) => engine.tools.list(judge.judge("tools.list", given)),
      activity: async (given) => engine.tools.activity(judge.judge("tools.activity", given, ownTarget)),
    },
    authenticate: async (given) => judge.principals.authenticate(readOptions("authenticate", given).credential),
    serve: async (given = {}) => engine.serve(readOptions("serve", given)),
    observers: () => engine.observers(),
    close: () => engine.close(),
  };
}

function judgedRuns(
  engine: VerbEngine,
  judge: VerbJudge,
  held: HeldVerbs,
): Pick<Engine, "submit" | "call" | "check" | "simulate" | "run" | "openRun" | "endCall" | "resume"> {
  // `run.cancel` is the verb of a handle that fewest principals may use.
  const handleTarget = (principal: Principal, runId: string) => judge.findRun(principal, "run.cancel", runId);
  return {
    submit: async (plan, given) => {
      const options = judgeSubmission(judge, "submit", given);
      const { principal, project = null } = options;
      return judgedHandle(judge, principal, await engine.submit(plan, options), { by: principal.id, project });
    },
    call: async <Called extends Tool>(tool: Called | string, input: InputOf<Called> | Json, given: SubmitOptions) =>
      engine.call(tool as Called, input as InputOf<Called>, judgeSubmission(judge, "call", given)),
    check: (plan, given = {}) => {
      const { principal } = given;
      return engine.check(
        plan,
        principal === undefined ? readOptions("check", given) : judge.judge("check", { ...given, principal }),
      );
    },
    simulate: async (plan, given) => engine.simulate(plan, judge.judge("simulate", given)),
    run: async (runId, given) => {
      const options = await judge.judgeOn("run", given, () => ({ runId }));
      const { principal } = options;
      return judgedHandle(judge, principal, await engine.run(runId, options), await handleTarget(principal, runId));
    },
    openRun: async (given) => {
      const options = judge.judge("openRun", given);
      return judgedOpenRun(judge, options.principal, await engine.openRun(options));
    },
    endCall: async (token, given) => engine.endCall(token, judge.judge("endCall", given)),
    resume: async (runId, given) => {
      const options = await judge.judgeOn("resume", given, () => ({ runId }));
      const { principal } = options;
      const isParked = await engine.isParked(runId, principal);
      if (isParked) judge.assertAllowed(principal, "resume:parked", NO_FACTS);
      const handle = isParked
        ? await held.use("resume:parked", options, { run_id: runId })
        : await engine.resume(runId, options);
      return judgedHandle(judge, principal, handle, await handleTarget(principal, runId));
    },
  };
}

/** With `retryFailed`, a submission resumes the earlier run of the principal, so it needs the right to do that. */
function judgeSubmission<Options extends Pick<SubmitOptions, "principal" | "retryFailed">>(
  judge: VerbJudge,
  verb: "submit" | "call" | "checkpoints.load" | "projects.revert",
  given: Options,
): Options & { readonly principal: Principal } {
  const options = judge.judge(verb, given);
  if (options.retryFailed) judge.assertAllowed(options.principal, "resume", ownTarget(options));
  return options;
}

function judgedDecisions(
  engine: VerbEngine,
  judge: VerbJudge,
  held: HeldVerbs,
): Pick<Engine, "approve" | "reject" | "resolve" | "undo" | "verify"> {
  const resolveUse = ({ as }: ResolveOptions): Verb => (as === "verify" ? "resolve:verify" : "resolve");
  return {
    approve: async (gateId, given) => engine.approve(gateId, judge.judge("approve", given)),
    reject: async (gateId, given) => engine.reject(gateId, judge.judge("reject", given)),
    resolve: async (runId, stepId, given) => {
      const options = await judge.judgeOn("resolve", given, () => ({ runId }), resolveUse);
      if (options.as === "verify") return engine.resolve(runId, stepId, options);
      return held.use("resolve", options, { run_id: runId, step_id: stepId });
    },
    undo: async (runId, given) => held.use("undo", judge.judge("undo", given), { run_id: runId }),
    verify: async (runId, given) => engine.verify(runId, await judge.judgeOn("verify", given, () => ({ runId }))),
  };
}

type Report =
  | keyof EngineLists
  | "state"
  | "gate"
  | "outcome"
  | "act"
  | "workers"
  | "cost"
  | "spent"
  | "spentByDay"
  | "budgets"
  | "audit"
  | "retentions";

function judgedReports(engine: VerbEngine, judge: VerbJudge): Pick<Engine, Report> {
  return {
    state: async (given) => engine.state(await judge.judgeOn("state", given, stateTarget)),
    // The lists leave out what a principal may not read, so it may ask for them.
    runs: async (given) => engine.runs(judge.judge("runs", given, ownTarget)),
    gates: async (given) => engine.gates(judge.judge("gates", given, ownTarget)),
    inDoubt: async (given) => engine.inDoubt(judge.judge("inDoubt", given, ownTarget)),
    outcomes: async (given) => engine.outcomes(judge.judge("outcomes", given, ownTarget)),
    changes: (given) => engine.changes(judge.judge("changes", given, ownTarget)),
    gate: async (gateId, given) => {
      const options = judge.judge("gate", given, ownTarget);
      const gate = await engine.gate(gateId, options);
      judge.assertAllowed(options.principal, "gate", { by: gate.requester, project: null });
      return gate;
    },
    outcome: async (outcomeId, given) => {
      const outcome = await engine.outcome(outcomeId, judge.judge("outcome", given, ownTarget));
      await judge.judgeOn("outcome", given, () => ({ runId: outcome.run_id }));
      return outcome;
    },
    act: async (key, given) => {
      const act = await engine.act(key, judge.judge("act", given, ownTarget));
      await judge.judgeOn("act", given, () => ({ runId: act.run_id }));
      return act;
    },
    workers: async (given) => engine.workers(judge.judge("workers", given)),
    cost: async (runId, given) => engine.cost(runId, await judge.judgeOn("cost", given, () => ({ runId }))),
    spent: async (given) =>
      engine.spent(judge.judge("spent", given, ({ by = null, project = null }) => ({ by, project }))),
    spentByDay: async (given) => engine.spentByDay(judge.judge("spentByDay", given, ownTarget)),
    budgets: async (given) =>
      engine.budgets(
        await judge.judgeOn("budgets", given, ({ principal, by = principal.id, runId }) =>
          runId === undefined || by !== principal.id ? { by, project: null } : { runId },
        ),
      ),
    audit: async (given) => engine.audit(await judge.judgeOn("audit", given, auditTarget)),
    retentions: async (given) => engine.retentions(judge.judge("retentions", given)),
  };
}

function ownTarget({ principal }: { readonly principal: Principal }): VerbTarget {
  return { by: principal.id, project: null };
}

function auditTarget({ runId }: { readonly runId?: string }): VerbTarget | RunTarget {
  return runId === undefined ? { by: null, project: null } : { runId };
}

function stateTarget(of: StateSelector): VerbTarget | RunTarget {
  return "project" in of ? { by: null, project: of.project } : { runId: of.runId };
}

function judgedCheckpoints(checkpoints: Checkpoints, judge: VerbJudge, held: HeldVerbs): Checkpoints {
  return {
    list: async (given) => checkpoints.list(await judge.judgeOn("checkpoints.list", given, stateTarget)),
    take: async (given) => checkpoints.take(judge.judge("checkpoints.take", given)),
    get: async (at, given) => {
      const call = readCheckpointRef(at);
      return checkpoints.get(call, await judge.judgeOn("checkpoints.get", given, () => call));
    },
    restore: async (at, given) => {
      const call = checkpointCall(readCheckpointRef(at));
      return held.use("checkpoints.restore", judge.judge("checkpoints.restore", given), call);
    },
    load: async (snapshot, given) => {
      const options = judgeSubmission(judge, "checkpoints.load", given);
      // Replacing logs takes the right to restore them.
      if (options.preserveLogs === false) judge.assertAllowed(options.principal, "checkpoints.restore", NO_FACTS);
      return checkpoints.load(snapshot, options);
    },
    diff: async (from, to, given) => {
      const [early, late] = [readCheckpointRef(from), readCheckpointRef(to)];
      const options = await judge.judgeOn("checkpoints.diff", given, () => early);
      const { principal } = options;
      const verb = "checkpoints.diff";
      judge.assertAllowed(principal, verb, await judge.findRun(principal, verb, late.runId));
      return checkpoints.diff(early, late, options);
    },
    fork: async (at, given) => {
      const call = checkpointCall(readCheckpointRef(at));
      const options = judge.judge("checkpoints.fork", given);
      const { principal } = options;
      const handle = await held.use("checkpoints.fork", options, call);
      return judgedHandle(judge, principal, handle, { by: principal.id, project: null });
    },
  };
}

/** Returns the call as rules and people see it. */
function checkpointCall({ runId, stepId, side }: CheckpointRef) {
  return { run_id: runId, step_id: stepId, side };
}

function readCheckpointRef(at: CheckpointRef | string): CheckpointRef {
  if (typeof at === "string") return parseSnapshotId(at);
  assertKnownFields("the fields of the checkpoint", at, ["runId", "stepId", "side"]);
  return { ...at };
}

function judgedProjects(projects: ProjectApi, judge: VerbJudge, held: HeldVerbs): ProjectApi {
  const of = (project: string) => () => ({ by: null, project });
  return {
    list: async (given) => projects.list(judge.judge("projects.list", given)),
    history: async (project, given) => projects.history(project, judge.judge("projects.history", given, of(project))),
    closure: async (project, given) => projects.closure(project, judge.judge("projects.closure", given, of(project))),
    close: async (project, given) => held.use("projects.close", judge.judge("projects.close", given), { project }),
    open: async (project, given) => held.use("projects.open", judge.judge("projects.open", given), { project }),
    revert: async (project, version, given) =>
      projects.revert(project, version, judgeSubmission(judge, "projects.revert", given)),
  };
}

function judgedNamedSessions(sessions: VerbEngine["sessions"], judge: VerbJudge): NamedSessions {
  return {
    open: async (given) => sessions.open(judge.judge("sessions.open", given)),
    exists: async (session, given) => sessions.exists(session, judge.judge("sessions.exists", given)),
    close: async (session, given) => {
      const options = judge.judge("sessions.close", given, ownTarget);
      const by = (await sessions.openedBy(session, options)) ?? options.principal.id;
      judge.assertAllowed(options.principal, "sessions.close", { by, project: null });
      return sessions.close(session, options);
    },
  };
}

function judgedSchedules(schedules: Schedules, judge: VerbJudge, held: HeldVerbs): Schedules {
  const change =
    (verb: "schedules.pause" | "schedules.resume" | "schedules.remove"): Schedules["pause"] =>
    async (schedule, given) =>
      held.use(verb, judge.judge(verb, given), { schedule });
  return {
    set: async (schedule, plan, given) =>
      held.use("schedules.set", judge.judge("schedules.set", given), { schedule, plan }),
    pause: change("schedules.pause"),
    resume: change("schedules.resume"),
    remove: change("schedules.remove"),
    list: async (given) => schedules.list(judge.judge("schedules.list", given)),
  };
}

function judgedPolicies(policies: TenantPolicies, judge: VerbJudge, held: HeldVerbs): TenantPolicies {
  return {
    set: async (document, given) => held.use("policies.set", judge.judge("policies.set", given), { document }),
    remove: async (name, given) => held.use("policies.remove", judge.judge("policies.remove", given), { name }),
    list: async (given) => policies.list(judge.judge("policies.list", given)),
    get: async (name, given) => policies.get(name, judge.judge("policies.get", given)),
    history: async (given) => policies.history(judge.judge("policies.history", given)),
    test: async (document, given) => policies.test(document, judge.judge("policies.test", given)),
  };
}

function judgedHalts(halts: Halts, judge: VerbJudge, held: HeldVerbs): Halts {
  const none = () => ({ by: null, project: null });
  const setUse = ({ everything, runId }: HaltOptions): Verb => {
    if (everything) return "halts.set:everything";
    return runId === undefined ? "halts.set:tenant" : "halts.set";
  };
  const liftUse = ({ everything }: HaltOptions): Verb => (everything ? "halts.lift:everything" : "halts.lift");
  return {
    set: async (given) => halts.set(judge.judge("halts.set", given, none, setUse)),
    lift: async (given) => held.use("halts.lift", judge.judge("halts.lift", given, none, liftUse), {}),
    list: async (given) => halts.list(judge.judge("halts.list", given)),
  };
}
