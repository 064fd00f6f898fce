import { createHash } from "node:crypto";
import type { Claim, SealedEvent } from "../../src/core/store/store.ts";
import type { Instant, RunId, StepId, Tenant, WorkerId } from "../../src/core/values/ids.ts";
import { findExecutingWorker } from "../../src/engine/worker/find-executing-worker.ts";
import { WorkerLeases } from "../../src/engine/worker/worker-leases.ts";
import type { FileContext } from "./file-context.ts";
import type { FileProcess } from "./file-process.ts";
import { runTerms } from "./file-terms.ts";

export const fileTenant = "acme" as Tenant;

/** The longest time for which a request of a dead process is in transit. */
const MAX_TRANSIT_MS = 100;

/** The body of an event of a simulated run. */
export interface RunEventBody {
  readonly step: number;
  readonly attempt: number;
  readonly worker: string;
  /** Null: the event that began the run. */
  readonly epoch: number | null;
}

/** A run as its journal shows it. */
interface RunState {
  position: number;
  /** The step that is next, and its last attempt that has no end. */
  step: number;
  attempt: number;
  begun: boolean;
  /** The worker that began the attempt. */
  sender: string;
}

/**
 * Executes runs as the engine does: it claims with the real `WorkerLeases`, records the start of each act, writes the
 * send marker, checks the lease and calls the world. A started act without a marker is called again, and one with a
 * marker is in doubt. Every other act has a verifier: if it is absent, and no process may still run it, it is called
 * again.
 */
export class RunWorker {
  readonly #sim: FileContext;
  readonly #process: FileProcess;
  readonly #leases: WorkerLeases;
  readonly #held = new Set<Claim>();

  constructor(sim: FileContext, process: FileProcess) {
    this.#sim = sim;
    this.#process = process;
    this.#leases = new WorkerLeases(process.store, process.worker, sim.stopwatch, process.terms);
  }

  async start(): Promise<void> {
    await this.#leases.register();
    this.#beat();
    this.#sweep();
  }

  #beat(): void {
    this.#process.after(this.#sim.config.leaseMs / 3, () => {
      void ignoreFaults(async () => {
        const lost = await this.#leases.renew([...this.#held]);
        for (const claim of lost) this.#held.delete(claim);
      }).then(() => this.#beat());
    });
  }

  #sweep(): void {
    const { rng, observer } = this.#sim;
    this.#process.after(rng.between(200, 900), () => {
      if (this.#process.stopping) return;
      void ignoreFaults(async () => {
        const claims = await this.#leases.claimDue(2);
        for (const claim of claims) {
          observer.observeClaim(claim, this.#process);
          this.#held.add(claim);
          void ignoreFaults(() => this.#execute(claim)).then(() => this.#held.delete(claim));
        }
      }).then(() => this.#sweep());
    });
  }

  async #execute(claim: Claim): Promise<void> {
    const { store, terms } = this.#process;
    const needed = runTerms(this.#sim.config, claim.run).offers;
    // Without the tool of the run, the engine leaves it to a worker that has the tool.
    if (!needed.every((tool) => terms.offers.includes(tool))) return void (await store.release(claim));
    const run = readRun(await store.events(fileTenant, claim.run, 0));
    while (run.step < this.#sim.config.stepsPerRun) {
      const doubt = run.begun && (await this.#isMarked(claim, run)) ? await this.#settle(claim, run) : "absent";
      if (doubt === "unsettled") return void (await store.release(claim));
      if (doubt !== "absent") {
        this.#sim.counts.doubts += 1;
        if (!(await this.#append(claim, run, doubt))) return;
      } else {
        if (run.begun) this.#sim.counts.repeats += 1;
        run.attempt += 1;
        if (!(await this.#append(claim, run, "started")) || !(await this.#call(claim, run))) return;
        if (!(await this.#append(claim, run, "done"))) return;
      }
      Object.assign(run, { step: run.step + 1, attempt: 0, begun: false });
      if (this.#process.stopping) break;
    }
    if (run.step === this.#sim.config.stepsPerRun && !(await this.#append(claim, run, "ended"))) return;
    await store.release(claim);
  }

  /** Settles an act in doubt. Every other one has no verifier. */
  async #settle(
    { run }: Claim,
    { step, attempt, sender }: RunState,
  ): Promise<"done" | "doubted" | "absent" | "unsettled"> {
    const { observer, counts } = this.#sim;
    if (step % 2 === 1) return "doubted";
    const sent = { attempt, worker: sender as WorkerId };
    const name = callName(run, step, attempt);
    const runsHere = () => this.#process.calls.has(name);
    const live = await findExecutingWorker(this.#process.store, [sent], this.#process.worker, runsHere);
    // A request of a dead process is in transit for a while.
    await new Promise<void>((resolve) => this.#process.after(MAX_TRANSIT_MS, resolve));
    if (observer.hasHappened(run, `s${step}`)) return "done";
    // A live process reports a call that has returned. After the faults, a person knows which processes are dead.
    if (live !== null && (observer.isCalling(live, name) || (observer.hasFaults && !observer.isAlive(live)))) {
      counts.liveSenders += 1;
      return "unsettled";
    }
    return "absent";
  }

  async #isMarked(claim: Claim, { step, attempt }: RunState): Promise<boolean> {
    const { store } = this.#process;
    return (await store.marked(fileTenant, claim.run, `s${step}` as StepId, attempt, store.boot)) !== "no";
  }

  /** Calls the world once the marker is written and the lease is confirmed. False: another worker has the run. */
  async #call(claim: Claim, { step, attempt }: RunState): Promise<boolean> {
    const name = callName(claim.run, step, attempt);
    this.#process.calls.add(name);
    try {
      return await this.#callMarked(claim, step, attempt);
    } finally {
      this.#process.calls.delete(name);
    }
  }

  async #callMarked(claim: Claim, step: number, attempt: number): Promise<boolean> {
    const { counts, observer, rng } = this.#sim;
    if (!(await this.#process.store.mark(claim, `s${step}` as StepId, attempt))) {
      counts.refusedMarkers += 1;
      return false;
    }
    if (!this.#leases.isProven(claim) && !(await this.#leases.confirm(claim))) return false;
    // The act happens some time after the call.
    if (rng.chance(0.5)) await new Promise<void>((resolve) => this.#process.after(rng.between(20, 1500), resolve));
    observer.observeCall(claim, `s${step}`, attempt);
    await new Promise<void>((resolve) => this.#process.after(rng.between(20, 1500), resolve));
    return true;
  }

  async #append(claim: Claim, run: RunState, type: string): Promise<boolean> {
    const { step, attempt } = run;
    const body = { step, attempt, worker: claim.worker, epoch: claim.epoch };
    const event = sealEvent(run.position + 1, type, body);
    const puts = type === "ended" ? [{ table: "timer", key: claim.run, was: "any", row: null } as const] : [];
    const entry = { tenant: fileTenant, run: claim.run, puts, charges: [], checks: [], flush: "soft" } as const;
    const expect = { position: run.position, epoch: claim.epoch };
    const [answer] = await this.#process.store.append([{ ...entry, expect, events: [event] }]);
    if (answer?.landed !== true) this.#sim.counts.fenced += 1;
    run.position += 1;
    return answer?.landed === true;
  }
}

function callName(run: RunId, step: number, attempt: number): string {
  return `${run} s${step} ${attempt}`;
}

/** The store may be closed or blocked for too long; the next sweep tries again. */
async function ignoreFaults(work: () => Promise<void>): Promise<void> {
  await work().catch(() => {});
}

export function sealEvent(position: number, type: string, fields: RunEventBody): SealedEvent {
  const body = JSON.stringify(fields);
  const hash = createHash("sha256").update(`${position} ${type} ${body}`).digest();
  return { position, type, v: 1, at: 0 as Instant, body, hash: new Uint8Array(hash) };
}

function readRun(events: readonly { readonly type: string; readonly body: string | null }[]): RunState {
  const state: RunState = { position: events.length, step: 0, attempt: 0, begun: false, sender: "" };
  for (const { type, body } of events) {
    const { step, attempt, worker } = JSON.parse(body as string) as RunEventBody;
    if (type === "started") Object.assign(state, { step, attempt, begun: true, sender: worker });
    if (type === "done" || type === "doubted") Object.assign(state, { step: step + 1, attempt: 0, begun: false });
  }
  return state;
}

export function runId(number: number): RunId {
  return `run_${number}` as RunId;
}
