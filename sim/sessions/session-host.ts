import { findStep } from "../../src/core/run/run.ts";
import { FaultError } from "../../src/core/values/fault.ts";
import type { StepId } from "../../src/core/values/ids.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import type { BegunCall } from "../../src/engine/api/open-run-api.ts";
import { later, type ScriptedCall, type SessionContext, simAgent } from "./session-context.ts";

/** Hosts that do calls themselves. A host outlives the process that told it to begin, and may die with its work. */
export class SessionHosts {
  readonly #sim: SessionContext;
  readonly #engine: () => Engine | null;
  /** The number of hosts that have not reported. */
  #working = 0;

  constructor(sim: SessionContext, engine: () => Engine | null) {
    this.#sim = sim;
    this.#engine = engine;
  }

  get isDone(): boolean {
    return this.#working === 0;
  }

  /** The work of a call begins: its effect happens before `until`, and its end is reported, perhaps late. */
  begin(call: ScriptedCall, begun: BegunCall): void {
    const sim = this.#sim;
    const { rng, scheduler, counts, config, effects } = sim;
    counts.begun += 1;
    sim.observer.checkSecret(begun.token.split("/").at(-1) ?? "no secret");
    const left = Math.max(1, begun.until - scheduler.now());
    const isDone = rng.chance(0.85);
    const workMs = rng.below(Math.max(1, left - 1));
    if (call.kind === "act" && isDone)
      later(sim, workMs, "host works", () => {
        if (scheduler.now() < begun.until) effects.set(call.id, (effects.get(call.id) ?? 0) + 1);
      });
    if (rng.chance(config.hostDies)) {
      counts.unreported += 1;
      return;
    }
    this.#working += 1;
    const reportMs = rng.chance(0.7) ? workMs + rng.below(500) : left + rng.below(20_000);
    later(sim, Math.max(workMs, reportMs) + 1, "host reports", () => void this.#report(call, begun, isDone));
    if (rng.chance(0.3)) later(sim, rng.below(left), "forged token", () => void this.#forge(begun));
  }

  async #report(call: ScriptedCall, begun: BegunCall, isDone: boolean): Promise<void> {
    const sim = this.#sim;
    const engine = this.#engine();
    const again = () => later(sim, 500, "host reports", () => void this.#report(call, begun, isDone));
    if (engine === null) return again();
    const wasDone = call.kind !== "act" || (sim.effects.get(call.id) ?? 0) > 0;
    const isLate = sim.scheduler.now() >= begun.until;
    const report = isDone && wasDone ? { output: { of: call.id } } : notDoneReport;
    try {
      const answered = withTimeout(sim, engine.endCall(begun.token, { principal: simAgent, ...report }));
      const answer = await answered;
      if (answer === null) return again();
      this.#working -= 1;
      sim.counts.reported += 1;
      if (isLate) sim.counts.lateReports += 1;
      if ("notDone" in report) sim.counts.notDone += 1;
      this.#checkAnswer(call, report, answer.status);
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      if (error.fault.code !== "AUTH_FORBIDDEN") return again();
      this.#working -= 1;
      if (!this.#isBegunAnew(begun)) sim.violate(`S8: the token of ${call.id} is refused`);
    }
    return undefined;
  }

  /** True if a person found the work absent, and the call was begun again. */
  #isBegunAnew({ token }: BegunCall): boolean {
    const [run_id, step_id, attempt] = token.split("/");
    const run = this.#sim.observer.runs.find(({ id }) => id === run_id);
    const step = run === undefined ? undefined : findStep(run, step_id as StepId);
    return Number(step?.external?.attempt) > Number(attempt);
  }

  /** The report of an act is adopted in time and late, unless a person or another attempt has settled it meanwhile. */
  #checkAnswer({ id, kind }: ScriptedCall, report: object, status: string): void {
    if (kind !== "act") return;
    if ("output" in report && status === "in_doubt")
      this.#sim.violate(`S9: ${id} is in doubt after its host has reported its output`);
    if ("notDone" in report && status === "in_doubt")
      this.#sim.violate(`S9: ${id} is in doubt after its host has reported that nothing was done`);
  }

  async #forge({ token }: BegunCall): Promise<void> {
    const sim = this.#sim;
    const engine = this.#engine();
    if (engine === null) return;
    const forged = `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`;
    sim.counts.forgedTokens += 1;
    const answer = await withTimeout(sim, engine.endCall(forged, { principal: simAgent, output: "forged" })).catch(
      (error: unknown) => (error instanceof FaultError ? null : null),
    );
    if (answer !== null) sim.violate("S10: a forged token ended a call");
  }
}

const notDoneReport = { notDone: { code: "NETWORK_TIMEOUT", message: "nothing was done" } } as const;

/** Resolves with null if the process that was asked has died. */
function withTimeout<Result>(sim: SessionContext, work: Promise<Result>): Promise<Result | null> {
  return new Promise((resolve, reject) => {
    work.then(resolve, reject);
    later(sim, 30_000, "no answer", () => resolve(null));
  });
}
