import type { CallAnswer } from "../../src/core/run/call-answer.ts";
import { FaultError } from "../../src/core/values/fault.ts";
import type { OpenRun } from "../../src/engine/api/open-run-api.ts";
import { later, type ScriptedCall, type SessionContext, simAgent } from "./session-context.ts";
import type { SessionHosts } from "./session-host.ts";
import type { SessionProcess } from "./session-process.ts";

/** Fault codes that a loop may receive at any time: it starts again. */
const expectedCodes: readonly string[] = ["SESSION_BUSY", "RUN_CLOSED", "ENGINE_CLOSED", "NOT_POSSIBLE", "CANCELLED"];

/** The agent of one session: the same loop at every start, in one process after the other, until all calls have ended. */
export class SessionAgent {
  readonly session: string;
  readonly #sim: SessionContext;
  readonly #hosts: SessionHosts;
  readonly #calls: readonly ScriptedCall[];
  readonly #pick: () => SessionProcess | null;
  /** By the id of a call: the final answer that the loop was given. */
  readonly #told = new Map<string, string>();
  #isDone = false;
  #start = 0;

  constructor(sim: SessionContext, session: string, hosts: SessionHosts, pick: () => SessionProcess | null) {
    this.#sim = sim;
    this.session = session;
    this.#hosts = hosts;
    this.#pick = pick;
    this.#calls = Array.from({ length: sim.config.calls }, (_, index) => drawCall(sim, `${session}.${index}`));
    later(sim, sim.rng.below(1000), "agent starts", () => void this.#run());
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Starts the loop. A loop that hangs because its process died is started again elsewhere. */
  async #run(): Promise<void> {
    if (this.#isDone) return;
    const sim = this.#sim;
    this.#start += 1;
    const start = this.#start;
    sim.counts.restarts += 1;
    later(sim, sim.rng.between(15_000, 60_000), "agent starts", () => {
      if (start === this.#start) void this.#run();
    });
    const process = this.#pick();
    if (process?.engine == null) return;
    try {
      const run = await process.engine.openRun({ session: this.session, principal: simAgent, waitMs: 2000 });
      if (run.attached) sim.counts.handedOver += 1;
      for (const call of this.#calls) if (!(await this.#call(run, call))) return;
      await this.#close(run);
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      if (error.fault.code === "SESSION_BUSY") sim.counts.busy += 1;
      else if (!expectedCodes.includes(error.fault.code)) sim.violate(`S11: a loop gets ${error.message}`);
    }
  }

  /** Makes a call. Returns false if it has not ended, so that the loop starts again later. */
  async #call(run: OpenRun, call: ScriptedCall): Promise<boolean> {
    const sim = this.#sim;
    const { id, kind, isReused } = call;
    const proposed = { id, tool: kind, input: { of: id } };
    sim.counts.calls += 1;
    if (isReused && (await run.findCall(id)) !== null) {
      sim.counts.reusedNames += 1;
      const other = await run.callTool({ ...proposed, tool: "look", input: { of: "another" } });
      if (other.status !== "refused") sim.violate(`S12: another call under the id ${id} is ${other.status}`);
    }
    const isOfHost = kind === "act" || kind === "read";
    const answer = isOfHost
      ? await run.beginCall(proposed, { forMs: sim.rng.between(500, 10_000) })
      : await run.callTool(proposed);
    if (!("go" in answer)) return this.#end(call, answer);
    this.#hosts.begin(call, answer);
    if (sim.rng.chance(0.05)) {
      await this.#close(run); // The user leaves while a host works.
      return false;
    }
    for (;;) {
      const found = await run.findCall(id);
      if (found?.status !== "waiting") return found !== null && this.#end(call, found);
      await new Promise<void>((resolve) => later(sim, 300, "agent waits", resolve));
    }
  }

  /** Closes the run, which takes no more calls then. */
  async #close(run: OpenRun): Promise<void> {
    await run.close();
    this.#isDone = true;
    const late = await run.callTool({ id: `${this.session}.late`, tool: "look", input: {} }).catch(() => null);
    if (late !== null) this.#sim.violate(`S3: a call of a closed run is ${late.status}`);
  }

  /** Notes a final answer, which every later start must be given again. */
  #end({ id, kind }: ScriptedCall, answer: CallAnswer): boolean {
    const { violate, counts, effects } = this.#sim;
    if (answer.status === "held") counts.held += 1;
    if (!["succeeded", "failed", "refused", "cancelled"].includes(answer.status)) return false;
    const text = answer.status === "succeeded" ? `succeeded ${JSON.stringify(answer.output)}` : answer.status;
    const told = this.#told.get(id) ?? text;
    this.#told.set(id, told);
    if (told !== text) violate(`S13: ${id} was ${told}, and is ${text}`);
    if (answer.status === "succeeded" && JSON.stringify(answer.output) !== JSON.stringify({ of: id }))
      violate(`S13: ${id} is answered with ${text}`);
    const acts = kind === "send" || kind === "act";
    if (acts && answer.status === "succeeded" && (effects.get(id) ?? 0) === 0)
      violate(`S14: ${id} succeeded off the world`);
    return true;
  }
}

function drawCall({ rng }: SessionContext, id: string): ScriptedCall {
  return { id, kind: rng.pick(["send", "look", "act", "act", "read"] as const), isReused: rng.chance(0.2) };
}
