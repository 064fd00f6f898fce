import type { Mode } from "../src/core/values/effect.ts";
import type { Rng } from "./rng.ts";

/** The probability of each fault per I/O operation. Zero is drawn often, so that long periods without faults exist. */
export interface FaultRates {
  /** The store fails before writing. */
  readonly failed: number;
  /** The store writes, and its answer is lost. */
  readonly lost: number;
  /** The store is not reached, and the caller cannot know that. */
  readonly unknown: number;
  /** The worker dies before or after the store call. */
  readonly killed: number;
  /** The worker dies at a failpoint, between two I/O operations. */
  readonly killedInside: number;
  /** The worker pauses at a failpoint. */
  readonly paused: number;
  /** A store call of a dead worker still arrives. */
  readonly executeAfterDeath: number;
  /** The call or its answer is delayed, often for longer than the lease. */
  readonly delayed: number;
  /** The same append arrives twice, at once or later. */
  readonly doubled: number;
  /** A process pauses, time jumps, a machine restarts, or a worker is asked to stop. */
  readonly disturbed: number;
  /** The power fails before the last write is synced. */
  readonly powerCut: number;
}

/** The probability of each behaviour of tools and verifiers per call. Otherwise they answer correctly and quickly. */
interface ToolBehaviour {
  readonly slow: number;
  /** Answers after its timeout. */
  readonly late: number;
  /** Throws although the act happened or may still land. */
  readonly throwsAfter: number;
  readonly throwsBefore: number;
  readonly notDone: number;
  /** Returns a value that its schema forbids. */
  readonly invalidOutput: number;
  readonly cannotVerify: number;
  readonly obeysAbort: number;
  readonly sideOutputs: number;
  /** Returns a value so large that it is stored as a blob. */
  readonly largeOutput: number;
}

/** The probability of each behaviour of people and clients. */
interface PeopleBehaviour {
  readonly denies: number;
  readonly ignores: number;
  readonly repeats: number;
  readonly actsWithoutPermission: number;
  readonly cancels: number;
  readonly resumes: number;
  readonly undoes: number;
  readonly resubmits: number;
  readonly conflicts: number;
  /** Waits for the result of a submitted run. */
  readonly waits: number;
  /** Asks the engine to simulate the plan. */
  readonly simulates: number;
}

/** A recurring period in which requests arrive but answers do not. */
export interface AnswerOutage {
  readonly everyMs: number;
  readonly lastsMs: number;
}

interface TenantSetup {
  readonly name: string;
  readonly mode: Mode;
  readonly trust: readonly string[];
}

/** The parameters of one seed: participants, fault rates and behaviour. */
export interface SeedConfig {
  readonly workers: number;
  readonly tenants: readonly TenantSetup[];
  readonly runs: number;
  readonly stepsPerPlan: number;
  /** The acts in plans; few, so that rare cases coincide. */
  readonly acts: readonly string[];
  /** The number of recipients; few, so that acts collide. */
  readonly recipients: number;
  readonly rates: FaultRates;
  readonly toolBehaviour: ToolBehaviour;
  readonly peopleBehaviour: PeopleBehaviour;
  readonly outage: AnswerOutage | null;
  /** The duration of a lease; a short one lets more workers act after they lost it. */
  readonly leaseMs: number;
  readonly restartMs: number;
  /** The share of workers that lack a tool. */
  readonly missingTool: number;
  readonly hints: number;
  readonly gateMs: number;
  readonly useWithinMs: number;
  readonly concurrency: number;
  /** The probability that a timer fires before pending I/O is answered. */
  readonly timerFirst: number;
  readonly skip: number;
  readonly skipMs: number;
  readonly latencyMs: number;
  /** The period over which requests arrive. */
  readonly spanMs: number;
  /** The longest delay of a person. */
  readonly paceMs: number;
  /** True if plans read and write state. */
  readonly usesState: boolean;
  /** The number of steps with faults; the settling phase follows. */
  readonly faultSteps: number;
}

export const NO_FAULTS: FaultRates = {
  failed: 0,
  lost: 0,
  unknown: 0,
  killed: 0,
  killedInside: 0,
  paused: 0,
  executeAfterDeath: 0,
  delayed: 0,
  doubled: 0,
  disturbed: 0,
  powerCut: 0,
};

export function drawSeedConfig(
  rng: Rng,
  toolNames: readonly string[],
  actNames: readonly string[],
  usesState: boolean,
): SeedConfig {
  const tenants = ["acme", "blue", "corp"].slice(0, rng.between(1, 3));
  const some = Array.from({ length: rng.between(1, 3) }, () => rng.pick(actNames));
  return {
    workers: rng.chance(0.2) ? 1 : rng.between(2, rng.chance(0.3) ? 8 : 4),
    tenants: tenants.map((name) => ({ name, mode: drawMode(rng), trust: toolNames.filter(() => rng.chance(0.4)) })),
    runs: rng.between(1, 14),
    stepsPerPlan: rng.between(1, 8),
    acts: rng.chance(0.3) ? actNames : some,
    recipients: rng.between(1, 6),
    rates: drawFaultRates(rng),
    toolBehaviour: drawToolBehaviour(rng),
    peopleBehaviour: drawPeopleBehaviour(rng),
    outage: rng.chance(0.25) ? { everyMs: rng.pick([60_000, 200_000]), lastsMs: rng.pick([5000, 45_000]) } : null,
    leaseMs: rng.pick([30_000, 12_000]),
    restartMs: rng.pick([10, 2000, 40_000]),
    missingTool: rng.pick([0, 0, 0, 0.3]),
    hints: rng.pick([0, 0.1, 0.8]),
    gateMs: rng.pick([15_000, 120_000, 3_600_000]),
    useWithinMs: rng.pick([2000, 60_000, 3_600_000]),
    concurrency: rng.pick([1, 3, 100]),
    timerFirst: rng.pick([0, 0.01, 0.1]),
    skip: rng.pick([0.3, 0.6]),
    skipMs: rng.pick([2000, 6000]),
    latencyMs: rng.pick([0, 2, 30]),
    spanMs: rng.pick([500, 10_000, 90_000]),
    paceMs: rng.pick([500, 5000, 20_000]),
    usesState,
    faultSteps: rng.between(150, 1000),
  };
}

function drawMode(rng: Rng): Mode {
  return rng.pick(["auto_exec", "auto_exec", "auto_exec", "human_gated", "human_gated", "draft_only"]);
}

/** Draws zero, or a rate between the bounds on a logarithmic scale. */
function drawRate(rng: Rng, low: number, high: number, zero = 0.4): number {
  return rng.chance(zero) ? 0 : low * (high / low) ** rng.float();
}

function drawFaultRates(rng: Rng): FaultRates {
  if (rng.chance(0.08)) return NO_FAULTS;
  return {
    failed: drawRate(rng, 0.001, 0.05),
    lost: drawRate(rng, 0.001, 0.08),
    unknown: drawRate(rng, 0.001, 0.03),
    killed: drawRate(rng, 0.0005, 0.02, 0.3),
    killedInside: drawRate(rng, 0.001, 0.05),
    paused: drawRate(rng, 0.005, 0.2, 0.4),
    executeAfterDeath: rng.pick([0, 0.5, 1]),
    delayed: drawRate(rng, 0.001, 0.06),
    doubled: drawRate(rng, 0.001, 0.1),
    disturbed: drawRate(rng, 0.0005, 0.01, 0.4),
    powerCut: drawRate(rng, 0.01, 0.3, 0.6),
  };
}

function drawToolBehaviour(rng: Rng): ToolBehaviour {
  return {
    slow: drawRate(rng, 0.05, 0.6),
    late: drawRate(rng, 0.01, 0.3),
    throwsAfter: drawRate(rng, 0.01, 0.3),
    throwsBefore: drawRate(rng, 0.01, 0.2),
    notDone: drawRate(rng, 0.01, 0.4),
    invalidOutput: drawRate(rng, 0.01, 0.15, 0.6),
    cannotVerify: drawRate(rng, 0.05, 0.4, 0.5),
    obeysAbort: rng.pick([0, 0.5, 1]),
    sideOutputs: drawRate(rng, 0.05, 0.5),
    largeOutput: drawRate(rng, 0.002, 0.02, 0.8),
  };
}

function drawPeopleBehaviour(rng: Rng): PeopleBehaviour {
  return {
    denies: drawRate(rng, 0.05, 0.4),
    ignores: drawRate(rng, 0.05, 0.4),
    repeats: drawRate(rng, 0.05, 0.5),
    actsWithoutPermission: drawRate(rng, 0.02, 0.3),
    cancels: drawRate(rng, 0.02, 0.3, 0.5),
    resumes: drawRate(rng, 0.2, 0.9, 0.3),
    undoes: drawRate(rng, 0.05, 0.6),
    resubmits: drawRate(rng, 0.1, 0.6, 0.3),
    conflicts: drawRate(rng, 0.05, 0.4, 0.5),
    waits: drawRate(rng, 0.1, 0.6, 0.4),
    simulates: drawRate(rng, 0.02, 0.2, 0.7),
  };
}
