import type { Principal } from "../../core/approval/principal.ts";
import { nearestName } from "../../core/json/nearest-name.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Engine, RunHandle } from "./engine-api.ts";
import type { OpenRun } from "./open-run-api.ts";
import { readPrincipal } from "./read-principal.ts";
import type { PrincipalOptions } from "./request-options.ts";

type Method = (...given: never[]) => unknown;
type MethodNames<Part> = { [Name in keyof Part & string]: Part[Name] extends Method ? Name : never }[keyof Part &
  string];
type Parts = { [Name in keyof Engine as Engine[Name] extends Method ? never : Name]: Engine[Name] } & {
  readonly run: RunHandle;
  readonly openRun: OpenRun;
};

/** The name of every method of the engine, of its parts (`halts.set`), and of its handles (`run.cancel`). */
export type EngineVerb =
  | MethodNames<Engine>
  | { [Part in keyof Parts & string]: `${Part}.${MethodNames<Parts[Part]>}` }[keyof Parts & string];

type MethodOf<Name extends EngineVerb> = Name extends keyof Engine
  ? Engine[Name]
  : Name extends `${infer Part extends keyof Parts & string}.${infer Member}`
    ? Parts[Part][Member & keyof Parts[Part]]
    : never;
type KeysOf<Union> = Union extends unknown ? keyof Union & string : never;
type OptionNames<Name extends EngineVerb> =
  MethodOf<Name> extends (...given: infer Given) => unknown
    ? Required<Given> extends readonly [...unknown[], infer Options]
      ? Options extends readonly unknown[]
        ? never
        : KeysOf<Options>
      : never
    : never;

const principal = { principal: true } as const;
const reason = { ...principal, reason: true } as const;
const page = { ...principal, limit: true, after: true } as const;
const list = { ...page, count: true, by: true } as const;
const times = { from: true, to: true } as const;
const place = { project: true, session: true } as const;
const selector = { ...principal, ...place, runId: true } as const;
const terms = {
  ...principal,
  ...place,
  context: true,
  mode: true,
  deadlineMs: true,
  queue: true,
  priority: true,
  confirmed: true,
  budgets: true,
  title: true,
  labels: true,
} as const;
const submission = { ...terms, requestKey: true, intent: true, correlationId: true, traceId: true } as const;
const repeatable = { ...submission, retryFailed: true } as const;
const { project: _project, ...reversion } = repeatable;
const snapshotParts = { policies: true, contents: true } as const;
const calls = { turn: true, lane: true, signal: true, waitMs: true, traceId: true } as const;
const halt = { ...reason, runId: true, everything: true } as const;

/** The options of every verb. The type fails to compile if a verb or one of its options is missing here. */
export const verbOptions: { readonly [Name in EngineVerb]: Readonly<Record<OptionNames<Name>, true>> } = {
  submit: { ...repeatable, signal: true, replan: true, fallbacks: true },
  call: repeatable,
  check: { ...principal, ...place, context: true, mode: true, deadlineMs: true, budget: true },
  simulate: { ...submission, reads: true },
  signal: { ...principal, id: true },
  run: principal,
  "run.result": { signal: true },
  "run.finished": { signal: true },
  "run.now": {},
  "run.events": { after: true, follow: true, signal: true },
  "run.transcript": {},
  "run.changes": {},
  "run.replay": {},
  "run.turns": {},
  "run.blob": { blob: true, bytes: true },
  "run.cancel": { reason: true },
  openRun: {
    ...principal,
    ...place,
    subject: true,
    agent: true,
    parent: true,
    mode: true,
    deadlineMs: true,
    traceId: true,
    title: true,
    labels: true,
    releaseMs: true,
    idleMs: true,
    waitMs: true,
  },
  "openRun.callTool": { ...calls, run: true, keepHandler: true },
  "openRun.callTools": calls,
  "openRun.beginCall": { ...calls, forMs: true },
  "openRun.endCall": { output: true, fault: true, notDone: true },
  "openRun.confirmCall": { turn: true, lane: true, reason: true },
  "openRun.recordModelCall": {
    lane: true,
    normalize: true,
    onChunk: true,
    readCalls: true,
    compacted: true,
    redact: true,
    content: true,
    signal: true,
    timeoutMs: true,
    waitMs: true,
  },
  "openRun.findCall": { turn: true, lane: true },
  "openRun.markDelivered": { turn: true, lane: true, to: true },
  "openRun.turns": {},
  "openRun.close": { as: true, reason: true },
  "openRun.release": {},
  "sessions.open": { ...principal, ...place },
  "sessions.exists": { ...principal, project: true },
  "sessions.close": { ...reason, project: true },
  endCall: { ...principal, output: true, fault: true, notDone: true },
  resume: reason,
  approve: { ...reason, digest: true, input: true, data: true, sameAs: true },
  reject: { ...reason, digest: true },
  resolve: { ...reason, attempt: true, as: true, output: true },
  undo: reason,
  verify: reason,
  state: { ...selector, version: true, at: true },
  "checkpoints.take": { ...principal, ...place, ...snapshotParts, tags: true, requestKey: true },
  "checkpoints.get": { ...principal, ...snapshotParts },
  "checkpoints.list": { ...selector, callId: true, calls: true },
  "checkpoints.diff": principal,
  "checkpoints.load": { ...repeatable, preserveLogs: true, resources: true },
  "checkpoints.restore": { ...reason, preserveLogs: true },
  "checkpoints.fork": { ...principal, plan: true, mode: true, files: true },
  "projects.list": page,
  "projects.history": { ...principal, limit: true, before: true },
  "projects.closure": principal,
  "projects.close": { ...reason, as: true },
  "projects.open": reason,
  "projects.revert": reversion,
  "schedules.set": { ...terms, cron: true, zone: true, catchUp: true, runAs: true },
  "schedules.pause": principal,
  "schedules.resume": principal,
  "schedules.remove": principal,
  "schedules.list": principal,
  "policies.set": { ...reason, ifVersion: true },
  "policies.remove": { ...reason, ...place },
  "policies.list": principal,
  "policies.get": { ...principal, ...place },
  "policies.history": { ...principal, limit: true, before: true },
  "policies.test": { ...principal, calls: true, recorded: true, tool: true, project: true },
  "halts.set": halt,
  "halts.lift": halt,
  "halts.list": principal,
  "tools.put": { ifKnown: true },
  "tools.remove": {},
  "tools.list": principal,
  "tools.activity": { ...principal, tool: true, project: true, runs: true },
  runs: {
    ...list,
    ...times,
    status: true,
    agent: true,
    tool: true,
    label: true,
    parent: true,
    waitingFor: true,
    decidable: true,
    ...place,
  },
  gates: { ...list, ...times, ...place, status: true, runId: true, tool: true, decidable: true },
  inDoubt: { ...list, ...place, runId: true, tool: true, waitingFor: true },
  outcomes: { ...list, runId: true, type: true, status: true, tool: true, project: true },
  changes: { ...principal, since: true, signal: true },
  gate: principal,
  workers: principal,
  outcome: principal,
  act: principal,
  cost: principal,
  spent: { ...principal, period: true, by: true, project: true },
  spentByDay: { ...principal, ...times, by: true },
  budgets: { ...principal, by: true, project: true, runId: true },
  audit: { ...principal, runId: true },
  retain: { ...reason, endedBefore: true },
  forget: { ...reason, ...place, owner: true, subject: true },
  retentions: principal,
  backup: reason,
  backups: principal,
  adoptBackup: { ...reason, backupAt: true },
  serve: { signal: true },
  observers: {},
  authenticate: { credential: true },
  close: {},
};

/** Copies the options of a verb. Throws INVALID_INPUT if they are not an object or have an unknown name. */
export function readOptions<Options extends object>(verb: EngineVerb, given: Options): Options {
  assertKnownFields(`the options of ${verb}`, given, Object.keys(verbOptions[verb]));
  return { ...given };
}

/** Copies the options of a verb and its principal, so that the caller cannot change them after they were judged. */
export function readPrincipalOptions<Options extends PrincipalOptions>(
  verb: EngineVerb,
  given: Options,
): Options & { readonly principal: Principal } {
  const read = readOptions(verb, given);
  return { ...read, principal: readPrincipal(read.principal) };
}

/** Throws INVALID_INPUT unless the value is an object with only these fields. A misspelt one would have no effect. */
export function assertKnownFields(what: string, given: object, known: readonly string[]): void {
  if (typeof given !== "object" || given === null)
    throw new FaultError(fault("INVALID_INPUT", `${what} are not an object; pass { ${known.join(", ")} }`));
  const reasons = Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => unknownFieldProblem(name, known));
  if (reasons.length > 0)
    throw new FaultError(fault("INVALID_INPUT", `${what} were refused: ${reasons.join("; ")}`, { reasons }));
}

function unknownFieldProblem(name: string, known: readonly string[]): string {
  const meant = nearestName(name, known);
  if (meant !== null) return `there is no option ${name}; did you mean ${meant}?`;
  return `there is no option ${name}${known.length === 0 ? "" : `; there are ${known.join(", ")}`}`;
}
