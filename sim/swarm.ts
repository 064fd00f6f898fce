import type { Mode } from "../src/core/effect.ts";
import type { Rng } from "./rng.ts";

/** How likely each fault is, per I/O. Zero is drawn often, so that long quiet stretches exist, too. */
export interface Rates {
  /** The store fails and nothing was written. */
  readonly failed: number;
  /** It was done, and the answer is lost. */
  readonly lost: number;
  /** Nothing is known, and nothing was written. */
  readonly unknown: number;
  /** The worker dies before or after the store has done it. */
  readonly killed: number;
  /** The worker dies between two of its own steps, with no I/O in sight. */
  readonly killedInside: number;
  /** The worker stands still there for a while. */
  readonly faints: number;
  /** What a dead worker had sent is done all the same. */
  readonly posthumous: number;
  /** The call reaches the store late, or its answer the worker; often later than the lease lasts. */
  readonly delayed: number;
  /** The same append arrives twice, at once or later. */
  readonly doubled: number;
  /** Somebody, or everybody, does not run for a while; a machine restarts; a worker is asked to stop. */
  readonly jump: number;
  /** The power goes before what was just written is synced. */
  readonly blackout: number;
}

/** How tools and verifiers behave, per call. What is left is an honest and quick answer. */
interface Manners {
  readonly slow: number;
  /** Answers after its timeout. */
  readonly late: number;
  /** Throws though the act was done, or was still on its way. */
  readonly throwsAfter: number;
  readonly throwsBefore: number;
  readonly notDone: number;
  /** Answers what its schema does not allow. */
  readonly lies: number;
  readonly blind: number;
  readonly heedsAbort: number;
  readonly talks: number;
  /** Answers so much that it is kept beside the journal. */
  readonly verbose: number;
}

/** How people behave. */
interface Folk {
  readonly denies: number;
  readonly vanishes: number;
  readonly repeats: number;
  readonly intrudes: number;
  readonly cancels: number;
  readonly resumes: number;
  readonly undoes: number;
  readonly resubmits: number;
  readonly conflicts: number;
  /** Waits for the result of what was asked for. */
  readonly waits: number;
  /** Wants to know first what would happen. */
  readonly rehearses: number;
}

/** A time in which the world acts on what it is asked, but no answer of it arrives. */
export interface Outage {
  readonly everyMs: number;
  readonly lastsMs: number;
}

interface TenantPlan {
  readonly name: string;
  readonly mode: Mode;
  readonly trust: readonly string[];
}

/** What one seed is like: how many take part, how bad the weather is. Every seed draws its own. */
export interface Swarm {
  readonly workers: number;
  readonly tenants: readonly TenantPlan[];
  readonly runs: number;
  readonly stepsPerPlan: number;
  /** The acts that plans are made of; few, so that rare things meet. */
  readonly acts: readonly string[];
  /** So few that acts meet each other. */
  readonly recipients: number;
  readonly rates: Rates;
  readonly manners: Manners;
  readonly folk: Folk;
  readonly outage: Outage | null;
  /** How long a claim lasts that is not renewed; the shorter, the more workers act that no longer may. */
  readonly leaseMs: number;
  readonly restartMs: number;
  /** How many processes run a program that lacks a tool. */
  readonly skew: number;
  readonly hints: number;
  readonly gateMs: number;
  readonly useWithinMs: number;
  readonly concurrency: number;
  /** How eagerly time runs ahead of what is pending. */
  readonly hurry: number;
  readonly skip: number;
  readonly skipMs: number;
  readonly latencyMs: number;
  /** Over how long the requests come in. */
  readonly spanMs: number;
  /** How long people take, at most. */
  readonly paceMs: number;
  /** Whether plans read and write state. */
  readonly desk: boolean;
  /** I/Os with faults on; then the weather clears. */
  readonly stormSteps: number;
}

export const CALM: Rates = {
  failed: 0,
  lost: 0,
  unknown: 0,
  killed: 0,
  killedInside: 0,
  faints: 0,
  posthumous: 0,
  delayed: 0,
  doubled: 0,
  jump: 0,
  blackout: 0,
};

export function drawSwarm(rng: Rng, toolNames: readonly string[], actNames: readonly string[], desk: boolean): Swarm {
  const tenants = ["acme", "blue", "corp"].slice(0, rng.between(1, 3));
  const some = Array.from({ length: rng.between(1, 3) }, () => rng.pick(actNames));
  return {
    workers: rng.chance(0.2) ? 1 : rng.between(2, rng.chance(0.3) ? 8 : 4),
    tenants: tenants.map((name) => ({ name, mode: drawMode(rng), trust: toolNames.filter(() => rng.chance(0.4)) })),
    runs: rng.between(1, 14),
    stepsPerPlan: rng.between(1, 8),
    acts: rng.chance(0.3) ? actNames : some,
    recipients: rng.between(1, 6),
    rates: drawRates(rng),
    manners: drawManners(rng),
    folk: drawFolk(rng),
    outage: rng.chance(0.25) ? { everyMs: rng.pick([60_000, 200_000]), lastsMs: rng.pick([5000, 45_000]) } : null,
    leaseMs: rng.pick([30_000, 12_000]),
    restartMs: rng.pick([10, 2000, 40_000]),
    skew: rng.pick([0, 0, 0, 0.3]),
    hints: rng.pick([0, 0.1, 0.8]),
    gateMs: rng.pick([15_000, 120_000, 3_600_000]),
    useWithinMs: rng.pick([2000, 60_000, 3_600_000]),
    concurrency: rng.pick([1, 3, 100]),
    hurry: rng.pick([0, 0.01, 0.1]),
    skip: rng.pick([0.3, 0.6]),
    skipMs: rng.pick([2000, 6000]),
    latencyMs: rng.pick([0, 2, 30]),
    spanMs: rng.pick([500, 10_000, 90_000]),
    paceMs: rng.pick([500, 5000, 20_000]),
    desk,
    stormSteps: rng.between(150, 1000),
  };
}

function drawMode(rng: Rng): Mode {
  return rng.pick(["auto_exec", "auto_exec", "auto_exec", "human_gated", "human_gated", "draft_only"]);
}

/** Zero, or somewhere between the two, as often small as large. */
function rate(rng: Rng, low: number, high: number, zero = 0.4): number {
  return rng.chance(zero) ? 0 : low * (high / low) ** rng.float();
}

function drawRates(rng: Rng): Rates {
  if (rng.chance(0.08)) return CALM;
  return {
    failed: rate(rng, 0.001, 0.05),
    lost: rate(rng, 0.001, 0.08),
    unknown: rate(rng, 0.001, 0.03),
    killed: rate(rng, 0.0005, 0.02, 0.3),
    killedInside: rate(rng, 0.001, 0.05),
    faints: rate(rng, 0.005, 0.2, 0.4),
    posthumous: rng.pick([0, 0.5, 1]),
    delayed: rate(rng, 0.001, 0.06),
    doubled: rate(rng, 0.001, 0.1),
    jump: rate(rng, 0.0005, 0.01, 0.4),
    blackout: rate(rng, 0.01, 0.3, 0.6),
  };
}

function drawManners(rng: Rng): Manners {
  return {
    slow: rate(rng, 0.05, 0.6),
    late: rate(rng, 0.01, 0.3),
    throwsAfter: rate(rng, 0.01, 0.3),
    throwsBefore: rate(rng, 0.01, 0.2),
    notDone: rate(rng, 0.01, 0.4),
    lies: rate(rng, 0.01, 0.15, 0.6),
    blind: rate(rng, 0.05, 0.4, 0.5),
    heedsAbort: rng.pick([0, 0.5, 1]),
    talks: rate(rng, 0.05, 0.5),
    verbose: rate(rng, 0.002, 0.02, 0.8),
  };
}

function drawFolk(rng: Rng): Folk {
  return {
    denies: rate(rng, 0.05, 0.4),
    vanishes: rate(rng, 0.05, 0.4),
    repeats: rate(rng, 0.05, 0.5),
    intrudes: rate(rng, 0.02, 0.3),
    cancels: rate(rng, 0.02, 0.3, 0.5),
    resumes: rate(rng, 0.2, 0.9, 0.3),
    undoes: rate(rng, 0.05, 0.6),
    resubmits: rate(rng, 0.1, 0.6, 0.3),
    conflicts: rate(rng, 0.05, 0.4, 0.5),
    waits: rate(rng, 0.1, 0.6, 0.4),
    rehearses: rate(rng, 0.02, 0.2, 0.7),
  };
}
