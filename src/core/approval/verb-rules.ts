import type { Principal } from "./principal.ts";

/**
 * The objects that a kind of principal may use a verb on. `no`: nothing. `own`: the runs that it submitted. `project`: its own runs,
 * and the projects of its tenant with their runs. `tenant`: everything in its tenant.
 */
export type Reach = "no" | "own" | "project" | "tenant";

/** The rule of a verb: its reach for each kind of principal, its further conditions, and the event that records it. */
export interface VerbRule extends Readonly<Record<Principal["kind"], Reach>> {
  /** The verb in messages, after "cannot". */
  readonly about: string;
  readonly does: "changes" | "reveals";
  /** The event that records who used it, when and, if it has a reason, why. Null: it changes nothing. */
  readonly records: string | null;
  /** `admin`: the role that the tenant's settings name, if they name one. `operator`: that role, always. */
  readonly role?: "admin" | "operator";
  /** A principal with capabilities needs each of them to allow the name of the verb, like the name of a tool. */
  readonly capability?: true;
  /**
   * The tenant's policies judge it like a call of a tool with the name of the verb: they can refuse it, or hold it.
   * `named`: only by rules that name it, so that a rule about all calls does not lock its administrators out.
   */
  readonly policy?: "any" | "named";
  /** Nothing undoes it. The gate of a held request says so. */
  readonly final?: true;
  /** It shows or changes all of a state, so it is refused to a principal that is restricted to parts of the state. */
  readonly wholeState?: true;
  /** A refusal is an event in the run's journal, so `decide` judges it, not the engine. */
  readonly contested?: true;
}

const everyone = { agent: "tenant", service: "tenant", person: "tenant" } as const;
const ownRuns = { agent: "own", service: "own", person: "tenant" } as const;
const ownOfAgents = { agent: "own", service: "tenant", person: "tenant" } as const;
const ownSessions = { agent: "own", service: "own", person: "own" } as const;
const projectOfAgents = { agent: "project", service: "tenant", person: "tenant" } as const;
const services = { agent: "no", service: "tenant", person: "tenant" } as const;
const people = { agent: "no", service: "no", person: "tenant" } as const;

const reveals = { does: "reveals", records: null } as const;
const readsRun = { ...projectOfAgents, ...reveals, wholeState: true } as const;

/** Makes the row of a verb that changes something and leaves an event. */
function changes<const Kinds extends Readonly<Record<Principal["kind"], Reach>>>(kinds: Kinds, records: string) {
  return { ...kinds, does: "changes", records } as const;
}

/**
 * Every verb of the engine: its methods, those of its parts, and `run.*` and `openRun.*` for those of its handles. A name after a colon
 * is a use of the verb with a rule of its own. `docs/permissions.md` shows this table.
 */
export const verbRules = {
  submit: { ...changes(everyone, "run.accepted"), about: "submit a plan" },
  call: { ...changes(everyone, "run.accepted"), about: "call a tool" },
  simulate: { ...everyone, ...reveals, about: "simulate a plan" },
  check: { ...everyone, ...reveals, about: "check a plan" },
  signal: { ...changes(everyone, "signal.sent"), about: "send a signal" },

  run: { ...readsRun, about: "read a run" },
  "run.result": { ...readsRun, about: "read a run" },
  "run.finished": { ...readsRun, about: "read a run" },
  "run.now": { ...readsRun, about: "read a run" },
  "run.events": { ...readsRun, about: "read the events of a run" },
  "run.transcript": { ...readsRun, about: "read the transcript of a run" },
  "run.changes": { ...readsRun, about: "read the changes of state of a run" },
  "run.replay": { ...readsRun, about: "replay a run" },
  "run.turns": { ...readsRun, about: "read the turns of a run" },
  "run.blob": { ...readsRun, about: "read bytes of an output" },
  "run.cancel": { ...changes(ownRuns, "cancel.requested"), about: "cancel a run" },
  openRun: { ...changes(everyone, "run.accepted"), about: "open a session" },
  "openRun.callTool": { ...changes(ownSessions, "step.proposed"), about: "call a tool in a session" },
  "openRun.callTools": { ...changes(ownSessions, "step.proposed"), about: "call tools in a session" },
  "openRun.beginCall": { ...changes(ownSessions, "step.started"), about: "begin a call in a session" },
  "openRun.endCall": { ...changes(ownSessions, "step.succeeded"), about: "end a call that a host did itself" },
  "openRun.recordModelCall": { ...changes(ownSessions, "step.proposed"), about: "ask a model in a session" },
  "openRun.findCall": { ...ownSessions, ...reveals, about: "read a call of a session" },
  "openRun.markDelivered": {
    ...changes(ownSessions, "step.delivered"),
    about: "record that a client has the answer of a call",
  },
  "openRun.confirmCall": { ...changes(ownSessions, "gate.approved"), about: "confirm a call of a session" },
  "openRun.turns": { ...ownSessions, ...reveals, about: "read the turns of a session" },
  "openRun.close": { ...changes(ownSessions, "run.closed"), about: "close a session" },
  "openRun.release": { ...changes(ownSessions, "run.released"), about: "release a session" },
  "sessions.open": { ...changes(everyone, "session.opened"), about: "open a session by name" },
  "sessions.exists": { ...everyone, ...reveals, about: "read whether a session is open" },
  "sessions.close": { ...changes(ownOfAgents, "session.closed"), about: "close a session by name" },
  endCall: { ...changes(everyone, "step.succeeded"), about: "end a call that a host did itself" },
  resume: { ...changes(ownRuns, "run.resumed"), about: "resume a run" },
  "resume:parked": {
    ...changes(people, "run.resumed"),
    capability: true,
    policy: "named",
    about: "release a parked run",
  },

  approve: { ...changes(people, "gate.approved"), capability: true, contested: true, about: "approve a held call" },
  reject: { ...changes(people, "gate.rejected"), contested: true, about: "reject a held call" },
  resolve: {
    ...changes(people, "step.settled"),
    capability: true,
    policy: "named",
    about: "settle an act in doubt",
  },
  "resolve:verify": { ...changes(ownOfAgents, "step.probed"), about: "have an act in doubt verified" },
  verify: { ...changes(ownOfAgents, "run.verified"), about: "verify the acts of a run" },
  undo: {
    ...changes(people, "run.undone"),
    capability: true,
    policy: "named",
    about: "undo the acts of a run",
  },

  state: { ...projectOfAgents, ...reveals, about: "read the state" },
  "checkpoints.take": {
    ...changes(everyone, "run.accepted"),
    policy: "any",
    wholeState: true,
    about: "take a snapshot",
  },
  "checkpoints.get": { ...readsRun, about: "read a snapshot" },
  "checkpoints.list": { ...projectOfAgents, ...reveals, about: "list checkpoints" },
  "checkpoints.diff": { ...readsRun, about: "compare checkpoints" },
  "checkpoints.load": { ...changes(everyone, "run.accepted"), about: "load a snapshot" },
  "checkpoints.restore": {
    ...changes(people, "state.restored"),
    capability: true,
    policy: "any",
    wholeState: true,
    about: "restore a checkpoint",
  },
  "checkpoints.fork": {
    ...changes(people, "run.accepted"),
    capability: true,
    policy: "any",
    wholeState: true,
    about: "fork a run",
  },

  "projects.list": { ...services, ...reveals, wholeState: true, about: "list projects" },
  "projects.history": { ...readsRun, about: "read the history of a project" },
  "projects.closure": { ...projectOfAgents, ...reveals, about: "read whether a project is closed" },
  "projects.close": {
    ...changes(people, "project.closed"),
    capability: true,
    policy: "named",
    about: "close a project",
  },
  "projects.open": { ...changes(people, "project.opened"), capability: true, policy: "named", about: "open a project" },
  "projects.revert": { ...changes(people, "run.accepted"), policy: "any", wholeState: true, about: "revert a project" },

  "schedules.set": { ...changes(services, "schedule.set"), capability: true, policy: "named", about: "set a schedule" },
  "schedules.pause": {
    ...changes(services, "schedule.paused"),
    capability: true,
    policy: "named",
    about: "pause a schedule",
  },
  "schedules.resume": {
    ...changes(services, "schedule.resumed"),
    capability: true,
    policy: "named",
    about: "resume a schedule",
  },
  "schedules.remove": {
    ...changes(services, "schedule.removed"),
    capability: true,
    policy: "named",
    about: "remove a schedule",
  },
  "schedules.list": { ...services, ...reveals, about: "list schedules" },

  "policies.set": {
    ...changes(people, "policy.set"),
    role: "admin",
    capability: true,
    policy: "named",
    about: "set a policy",
  },
  "policies.remove": {
    ...changes(people, "policy.removed"),
    role: "admin",
    capability: true,
    policy: "named",
    about: "remove a policy",
  },
  "policies.list": { ...services, ...reveals, about: "list policies" },
  "policies.get": { ...services, ...reveals, about: "read a policy" },
  "policies.history": { ...services, ...reveals, about: "read the history of policies" },
  "policies.test": { ...services, ...reveals, wholeState: true, about: "test a policy" },

  "halts.set": { ...changes(services, "halt.set"), about: "halt a run" },
  "halts.set:tenant": { ...changes(services, "halt.set"), role: "admin", about: "halt the tenant" },
  "halts.set:everything": { ...changes(services, "halt.set"), role: "operator", about: "halt all tenants" },
  "halts.lift": {
    ...changes(people, "halt.lifted"),
    role: "admin",
    capability: true,
    policy: "named",
    about: "lift a halt",
  },
  "halts.lift:everything": {
    ...changes(people, "halt.lifted"),
    role: "operator",
    capability: true,
    policy: "named",
    about: "lift the halt of all tenants",
  },
  "halts.list": { ...everyone, ...reveals, about: "list halts" },

  "tools.put": { ...everyone, ...reveals, about: "register tools" },
  "tools.remove": { ...everyone, ...reveals, about: "remove tools" },
  "tools.list": { ...everyone, ...reveals, about: "list tools" },
  "tools.activity": { ...ownOfAgents, ...reveals, about: "read the activity of tools" },

  runs: { ...ownOfAgents, ...reveals, about: "list runs" },
  gates: { ...ownOfAgents, ...reveals, about: "list gates" },
  gate: { ...ownOfAgents, ...reveals, about: "read a gate" },
  inDoubt: { ...ownOfAgents, ...reveals, about: "list acts in doubt" },
  outcomes: { ...ownOfAgents, ...reveals, about: "list outcomes" },
  outcome: { ...readsRun, about: "read an outcome" },
  act: { ...readsRun, about: "read the record of an act" },
  changes: { ...ownOfAgents, ...reveals, about: "watch runs" },
  workers: { ...services, ...reveals, about: "list workers" },
  cost: { ...projectOfAgents, ...reveals, about: "read the cost of a run" },
  spent: { ...projectOfAgents, ...reveals, about: "read what was spent" },
  spentByDay: { ...ownOfAgents, ...reveals, about: "read what was spent" },
  budgets: { ...projectOfAgents, ...reveals, about: "read budgets" },
  audit: { ...ownOfAgents, ...reveals, about: "audit journals" },
  retain: {
    ...changes(services, "retention.started"),
    role: "admin",
    capability: true,
    policy: "any",
    final: true,
    about: "erase the bodies of ended runs",
  },
  forget: {
    ...changes(services, "retention.started"),
    role: "admin",
    capability: true,
    policy: "any",
    final: true,
    about: "erase a session",
  },
  retentions: { ...services, ...reveals, about: "list retentions" },
  backup: {
    ...changes(services, "backup.started"),
    role: "admin",
    capability: true,
    policy: "named",
    about: "back up the store",
  },
  "backup:everything": {
    ...changes(services, "backup.started"),
    role: "operator",
    capability: true,
    policy: "named",
    about: "back up a store with other tenants",
  },
  backups: { ...services, ...reveals, about: "list backups" },
  adoptBackup: {
    ...changes(people, "restore.started"),
    role: "admin",
    capability: true,
    about: "adopt a restored backup",
  },
  serve: { ...everyone, ...reveals, about: "serve" },
  observers: { ...everyone, ...reveals, about: "list observers" },
  authenticate: { ...everyone, ...reveals, about: "authenticate" },
  close: { ...everyone, ...reveals, about: "close the engine" },
} as const satisfies Readonly<Record<string, VerbRule>>;

export type Verb = keyof typeof verbRules;

/** Returns whether only rules that name the verb judge it. False for the name of a tool. */
export function isJudgedByName(verb: string): boolean {
  const rule: VerbRule | null = Object.hasOwn(verbRules, verb) ? verbRules[verb as Verb] : null;
  return rule?.policy === "named";
}

/** Returns whether nothing undoes the verb. */
export function isFinalVerb(verb: string): boolean {
  return Object.hasOwn(verbRules, verb) && "final" in verbRules[verb as Verb];
}
