import type { Instant } from "../values/ids.ts";
import type { PlanFinding } from "./analyse-plan.ts";
import type { PlanInput } from "./plan-input.ts";
import type { PlanLowerBounds } from "./plan-lower-bounds.ts";

/** A plan that may be run, with the report of `check` about it. */
export interface PlanCandidate {
  readonly plan: PlanInput;
  readonly ok: boolean;
  readonly findings: readonly PlanFinding[];
  readonly bounds: PlanLowerBounds | null;
}

/** How the calls of a tool have ended so far. `engine.tools.activity` reports it. */
export interface ToolHistory {
  readonly tool: string;
  readonly calls: number;
  readonly succeeded: number;
  readonly last_at: Instant;
}

export interface RankTerms {
  /** The history of tools. A tool without one has the success rate 1/2. Default: none. */
  readonly history?: readonly ToolHistory[];
  /** The time at which the history is judged. Default: that of the latest call in it. */
  readonly at?: Instant;
  /** After this time, a call counts half as much, in milliseconds. Default: 7 days. */
  readonly halfLifeMs?: number;
  /** How much each part counts. Parts that are absent keep their default. */
  readonly weights?: Partial<RankWeights>;
}

/** The parts of a score, and how much each of them counts. */
export type RankWeights = Readonly<Record<"cost" | "depth" | "conflicts" | "history", number>>;

/** A part of a score, from 0 to 1. `why` says which facts it was computed from. */
export interface ScorePart {
  readonly part: keyof RankWeights;
  readonly value: number;
  readonly weight: number;
  readonly why: string;
}

/** A candidate with its place. The score of a plan that would be refused or cannot complete is 0. */
export interface RankedPlan extends PlanCandidate {
  /** The index of the plan in the list of candidates. */
  readonly candidate: number;
  readonly score: number;
  readonly parts: readonly ScorePart[];
}

const defaultRankWeights: RankWeights = { cost: 0.3, depth: 0.1, conflicts: 0.2, history: 0.4 };

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

/** Sorts plans, the best first; of equal scores, the earlier candidate. Pure: equal arguments give equal ranks. */
export function rankPlans(candidates: readonly PlanCandidate[], terms: RankTerms = {}): readonly RankedPlan[] {
  const weights = { ...defaultRankWeights, ...terms.weights };
  const usable = candidates.filter(isUsable);
  const least = { cost: smallest(usable.map(costOf)), depth: smallest(usable.map(depthOf)) };
  const rates = successRates(terms);
  const ranked = candidates.map((given, candidate): RankedPlan => {
    if (!isUsable(given)) return { ...given, candidate, score: 0, parts: [] };
    const parts = [
      costPart(given, least.cost),
      depthPart(given, least.depth),
      conflictPart(given),
      ratePart(given, rates),
    ];
    const weighed = parts.map((part) => ({ ...part, weight: weights[part.part] }));
    const total = weighed.reduce((sum, { weight }) => sum + weight, 0);
    const score = weighed.reduce((sum, { value, weight }) => sum + value * weight, 0) / (total || 1);
    return { ...given, candidate, score: rounded(score), parts: weighed };
  });
  return ranked.sort((one, other) => other.score - one.score || one.candidate - other.candidate);
}

/** True if the plan would be accepted, and nothing proves that it cannot complete. */
export function isUsable({ ok, findings }: PlanCandidate): boolean {
  return ok && !findings.some(({ severity, proof }) => severity === "error" && proof === "proven");
}

type Part = Omit<ScorePart, "weight">;

/** Money if the tools estimate it, and else the number of steps. */
function costOf({ bounds, plan }: PlanCandidate): number {
  const { usd_micros = 0 } = bounds?.cost ?? {};
  return usd_micros + plan.steps.length * STEP_USD_MICROS;
}

/** The cost of a step besides its estimate, so that of two free plans the shorter one is cheaper. */
const STEP_USD_MICROS = 1000;

function depthOf({ bounds }: PlanCandidate): number {
  return Math.max(1, bounds?.depth ?? 1);
}

function smallest(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
}

function costPart(candidate: PlanCandidate, least: number): Part {
  const { usd_micros = 0 } = candidate.bounds?.cost ?? {};
  const unknown = candidate.bounds?.unknown_costs ?? 0;
  const why = `${candidate.plan.steps.length} steps, at least ${usd_micros} usd_micros, ${unknown} calls of unknown cost`;
  return { part: "cost", value: rounded(least / costOf(candidate)), why };
}

function depthPart(candidate: PlanCandidate, least: number): Part {
  const depth = depthOf(candidate);
  return { part: "depth", value: rounded(least / depth), why: `${depth} steps one after another` };
}

function conflictPart({ findings }: PlanCandidate): Part {
  const count = findings.length;
  const codes = [...new Set(findings.map(({ code }) => code))].join(", ");
  return { part: "conflicts", value: rounded(1 / (1 + count)), why: codes === "" ? "no findings" : codes };
}

/** The mean success rate of the tools that the steps call. */
function ratePart({ plan }: PlanCandidate, rates: ReadonlyMap<string, number>): Part {
  const tools = plan.steps.flatMap(({ kind = "operator", name }) => (kind === "operator" && name ? [name] : []));
  if (tools.length === 0) return { part: "history", value: 1, why: "it calls no tool" };
  const sum = tools.reduce((total, tool) => total + (rates.get(tool) ?? 0.5), 0);
  const texts = [...new Set(tools)].map((tool) => `${tool} ${rounded(rates.get(tool) ?? 0.5)}`);
  return { part: "history", value: rounded(sum / tools.length), why: texts.slice(0, 20).join(", ") };
}

/** The success rate of each tool, with one success and one failure more (Laplace). Old calls count less. */
function successRates({ history = [], at, halfLifeMs = WEEK_MS }: RankTerms): ReadonlyMap<string, number> {
  const now = at ?? history.reduce((latest, { last_at }) => Math.max(latest, last_at), 0);
  return new Map(
    history.map(({ tool, calls, succeeded, last_at }) => {
      const counts = 2 ** (-Math.max(0, now - last_at) / halfLifeMs);
      return [tool, (succeeded * counts + 1) / (calls * counts + 2)];
    }),
  );
}

/** Six digits, so that a score reads the same on every machine. */
function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
