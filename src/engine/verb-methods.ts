import type { Principal } from "../core/approval/principal.ts";
import type { HeldIn } from "../core/values/held-in.ts";
import type { Checkpoints, ForkOptions } from "./api/checkpoint-api.ts";
import type { Engine, ResolveOptions, RunHandle } from "./api/engine-api.ts";
import type { HaltOptions } from "./api/halt-api.ts";
import type { PolicyPlaceOptions } from "./api/policy-api.ts";
import type { ProjectApi } from "./api/project-api.ts";
import { readForgetOptions } from "./api/read-forget-options.ts";
import type { PrincipalOptions, ReasonOptions } from "./api/request-options.ts";
import type { ForgetOptions } from "./api/retention-report.ts";
import type { ScheduleOptions } from "./api/schedule-api.ts";
import type { CheckpointRef } from "./api/state-api.ts";
import type { HoldableVerb } from "./api/verb-arguments.ts";

/** The engine below the judged surface. Its methods also take the run of a held request. */
export interface VerbEngine extends Omit<Engine, "authenticate"> {
  /** Returns whether a run continues only if a person releases it. */
  isParked(runId: string, principal: Principal): Promise<boolean>;
  /** Resumes a run that is parked. */
  releaseParked(runId: string, options: ReasonOptions): Promise<RunHandle>;
  /** Returns the options with the attempt that the asker sees. Throws if the resolution cannot be made. */
  pinResolution(runId: string, stepId: string, options: ResolveOptions): Promise<ResolveOptions>;
  /** Returns the options of a refused resolution as they are recorded, without secrets. */
  redactResolution(runId: string, stepId: string, options: ResolveOptions): Promise<ResolveOptions>;
  readonly sessions: Engine["sessions"] & {
    /** Returns the principal that has opened the session, or null. */
    openedBy(session: string, options: Parameters<Engine["sessions"]["exists"]>[1]): Promise<string | null>;
  };
  readonly policies: Engine["policies"] & {
    /** Throws if `set` would refuse the document. */
    read(document: unknown, principal: Principal): unknown;
  };
  readonly schedules: Engine["schedules"] & {
    /** Throws if `set` would refuse these arguments. */
    assertValid(schedule: string, plan: unknown, options: ScheduleOptions): void;
  };
}

/** How a verb is used with the arguments of a request, directly or after its approval. */
export interface VerbMethod<Given = never, Options = never, Answer = never> {
  use(engine: VerbEngine, given: Given, options: Options): Promise<unknown>;
  /** Throws if the use is certain to fail, so that people are not asked about it. */
  check?(engine: VerbEngine, given: Given, options: Options): unknown;
  /** Returns the options of a held request: they name what the asker sees now. Default: the given options. */
  pin?(engine: VerbEngine, given: Given, options: Options): Promise<PrincipalOptions>;
  /** Returns the options of a refused request as they are recorded. Default: the given options. */
  redact?(engine: VerbEngine, given: Given, options: Options): Promise<PrincipalOptions>;
  /** The answer as it is recorded. Default: the answer itself. */
  report?(answer: Answer): unknown;
}

type Call = Readonly<Record<"run_id" | "step_id", string>> & Pick<CheckpointRef, "side">;
type Named<Name extends string> = Readonly<Record<Name, string>>;
type ScheduledPlan = Named<"schedule"> & { readonly plan: unknown };
type RestoreOptions = Parameters<Checkpoints["restore"]>[1] & HeldIn & { readonly principal: Principal };

function checkpointRef({ run_id, step_id, side }: Call): CheckpointRef {
  return { runId: run_id, stepId: step_id, side };
}

/** Throws if the run does not exist. */
function checkRun(
  engine: VerbEngine,
  { run_id }: Named<"run_id">,
  { principal }: PrincipalOptions,
): Promise<RunHandle> {
  return engine.run(run_id, { principal });
}

/** Every verb that a policy can hold. */
export const verbMethods = {
  "resume:parked": {
    use: (engine: VerbEngine, { run_id }: Named<"run_id">, options: ReasonOptions) =>
      engine.releaseParked(run_id, options),
    report: ({ run_id }: RunHandle) => ({ run_id }),
  },
  resolve: {
    use: (engine: VerbEngine, { run_id, step_id }: Named<"run_id" | "step_id">, options: ResolveOptions) =>
      engine.resolve(run_id, step_id, options),
    pin: (engine: VerbEngine, { run_id, step_id }: Named<"run_id" | "step_id">, options: ResolveOptions) =>
      engine.pinResolution(run_id, step_id, options),
    redact: (engine: VerbEngine, { run_id, step_id }: Named<"run_id" | "step_id">, options: ResolveOptions) =>
      engine.redactResolution(run_id, step_id, options),
  },
  undo: {
    use: (engine: VerbEngine, { run_id }: Named<"run_id">, options: ReasonOptions) => engine.undo(run_id, options),
    check: checkRun,
    report: (acts: Awaited<ReturnType<Engine["undo"]>>) => ({ acts }),
  },
  "checkpoints.restore": {
    use: (engine: VerbEngine, given: Call, options: RestoreOptions) =>
      engine.checkpoints.restore(checkpointRef(given), options),
    check: checkRun,
  },
  "checkpoints.fork": {
    use: (engine: VerbEngine, given: Call, options: ForkOptions & { readonly principal: Principal }) =>
      engine.checkpoints.fork(checkpointRef(given), options),
    check: checkRun,
    report: ({ run_id }: RunHandle) => ({ run_id }),
  },
  "projects.close": {
    use: (engine: VerbEngine, { project }: Named<"project">, options: Parameters<ProjectApi["close"]>[1]) =>
      engine.projects.close(project, options),
  },
  "projects.open": {
    use: (engine: VerbEngine, { project }: Named<"project">, options: ReasonOptions) =>
      engine.projects.open(project, options),
  },
  "schedules.set": {
    use: (engine: VerbEngine, { schedule, plan }: ScheduledPlan, options: ScheduleOptions) =>
      engine.schedules.set(schedule, plan, options),
    check: (engine: VerbEngine, { schedule, plan }: ScheduledPlan, options: ScheduleOptions) =>
      engine.schedules.assertValid(schedule, plan, options),
  },
  "schedules.pause": {
    use: (engine: VerbEngine, { schedule }: Named<"schedule">, options: PrincipalOptions) =>
      engine.schedules.pause(schedule, options),
  },
  "schedules.resume": {
    use: (engine: VerbEngine, { schedule }: Named<"schedule">, options: PrincipalOptions) =>
      engine.schedules.resume(schedule, options),
  },
  "schedules.remove": {
    use: (engine: VerbEngine, { schedule }: Named<"schedule">, options: PrincipalOptions) =>
      engine.schedules.remove(schedule, options),
  },
  "policies.set": {
    use: (engine: VerbEngine, { document }: { readonly document: unknown }, options: ReasonOptions) =>
      engine.policies.set(document, options),
    check: (engine: VerbEngine, { document }: { readonly document: unknown }, { principal }: ReasonOptions) =>
      engine.policies.read(document, principal as Principal),
  },
  "policies.remove": {
    use: (engine: VerbEngine, { name }: Named<"name">, options: ReasonOptions & PolicyPlaceOptions) =>
      engine.policies.remove(name, options),
  },
  "halts.lift": {
    use: (engine: VerbEngine, _given: object, options: HaltOptions & { readonly reason?: string }) =>
      engine.halts.lift(options),
  },
  retain: {
    use: (engine: VerbEngine, _given: object, options: Parameters<Engine["retain"]>[0]) => engine.retain(options),
  },
  forget: {
    use: (engine: VerbEngine, _given: object, options: ForgetOptions) => engine.forget(options),
    check: (_engine: VerbEngine, _given: object, options: ForgetOptions & { readonly principal: Principal }) =>
      readForgetOptions(options.principal, options),
  },
  backup: {
    use: (engine: VerbEngine, { file }: Named<"file">, options: ReasonOptions) => engine.backup(file, options),
  },
} satisfies { readonly [Name in HoldableVerb]: VerbMethod };

export type VerbMethods = typeof verbMethods;
