import type { CompletedAct, Probe, Sighting, Tool, ToolContext } from "../src/core/tool/tool.ts";
import { type FaultCode, FaultError, fault, notDone } from "../src/core/values/fault.ts";
import type { EffectKey } from "../src/core/values/ids.ts";
import type { Json, JsonObject } from "../src/core/values/json.ts";
import type { ToolRequest } from "./external-world.ts";
import { Rng } from "./rng.ts";
import type { SimContext } from "./sim-context.ts";
import { EXPECTED_COST_USD_MICROS } from "./sim-limits.ts";
import { dispatchStateEvent, runStateOperations, simStateTools } from "./sim-state-tools.ts";
import { SECRET_OUTPUT, SILENT_TOOL, simTools } from "./sim-tools.ts";
import type { StateOperation } from "./state-model.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** Returns the tools of one worker. Each call reaches the shared world and ends with a randomly drawn outcome. */
export function bindTools(sim: SimContext, worker: WorkerProcess): readonly Tool[] {
  const available = sim.config.usesState ? [...simTools, ...simStateTools] : simTools;
  const tools = worker.missing === null ? available : available.filter(({ name }) => name !== worker.missing);
  return tools.map((tool) => ({
    ...tool,
    cost: sim.limits && (() => ({ usd_micros: EXPECTED_COST_USD_MICROS })),
    run: (input, context) => {
      if (!worker.alive) return neverSettle();
      return tool.effect === "acts"
        ? runAct(sim, worker, tool, { input, context, undoes: null })
        : runNonAct(sim, worker, tool, input, context);
    },
    verify: tool.verify && ((probe) => (worker.alive ? verifyInWorld(sim, worker, tool, probe) : neverSettle())),
    compensate:
      tool.compensate &&
      ((done: CompletedAct, context) =>
        worker.alive ? runAct(sim, worker, tool, { input: done.input, context, undoes: done.key }) : neverSettle()),
  }));
}

const neverSettle = <Value>(): Promise<Value> => new Promise<Value>(() => {});

/** How a call ends, from the point of view of its caller. */
type ToolFate = "value" | "lie" | "throw after" | "throw before" | "not done";

function drawToolFate({ rng, config: { toolBehaviour } }: SimContext): ToolFate {
  if (rng.chance(toolBehaviour.notDone)) return "not done";
  if (rng.chance(toolBehaviour.throwsBefore)) return "throw before";
  if (rng.chance(toolBehaviour.throwsAfter)) return "throw after";
  return rng.chance(toolBehaviour.invalidOutput) ? "lie" : "value";
}

function drawLatency({ rng, config: { toolBehaviour } }: SimContext, timeoutMs: number, settleMs: number): number {
  if (rng.chance(toolBehaviour.late)) return timeoutMs + rng.between(1, settleMs + 2000);
  return rng.below(rng.chance(toolBehaviour.slow) ? timeoutMs : 100);
}

/** Schedules the answer of a handler. The worker may die instead of receiving it. */
function answerLater(sim: SimContext, worker: WorkerProcess, ms: number, about: string, settle: () => void): void {
  const { scheduler, rng } = sim;
  const execute = () => {
    if (rng.chance(sim.rates.killed)) {
      worker.die("during the answer of its tool");
      return "killed";
    }
    settle();
    return "received";
  };
  scheduler.addAt(scheduler.now() + ms, { name: "answer", owner: worker.number, about, execute });
}

function runNonAct(
  sim: SimContext,
  worker: WorkerProcess,
  tool: Tool,
  input: Json,
  context: ToolContext,
): Promise<unknown> {
  sim.observer.observeCall(tool, input, context, worker.number);
  return new Promise((resolve, reject) => {
    const fate = drawToolFate(sim);
    emitSideOutputs(sim, context, input);
    const runMore = operateOnState(sim, tool, context);
    const id = `${tool.name}-${(input as JsonObject).to as string}`;
    const value = toolAnswer(
      tool,
      input,
      sim.rng.chance(sim.config.toolBehaviour.largeOutput) ? id.padEnd(70_000, ".") : id,
    );
    answerLater(sim, worker, drawLatency(sim, tool.timeoutMs, 0), context.step_id, () => {
      runMore();
      if (fate === "value") {
        sim.observer.observeOutput(context, worker.number);
        resolve(value);
      } else if (fate === "lie") resolve({ ...(value as JsonObject), n: "many" });
      else reject(drawToolError(sim, fate));
    });
  });
}

/** Runs random operations on state; the returned function runs more of them. */
function operateOnState(sim: SimContext, tool: Tool, context: ToolContext): () => void {
  if (!simStateTools.some(({ name }) => name === tool.name)) return () => {};
  const { stateVersions } = sim;
  const rng = randomFor(sim, tool, context);
  const writes = tool.effect === "writes";
  const operations: StateOperation[] = [...runStateOperations(rng, context, rng.between(1, 3), writes)];
  stateVersions.addOperations(context, operations);
  return () => void operations.push(...runStateOperations(rng, context, rng.between(0, 3), writes));
}

/**
 * Tools with a preview usually draw from the random source of the call, so the call does the same as its preview. One
 * in ten draws anew and does something else.
 */
function randomFor({ rng, rules }: SimContext, tool: Tool, { random }: ToolContext): Rng {
  return rules?.requiredVotes.has(tool.name) && rng.chance(0.9) ? new Rng(Math.floor(random() * 2 ** 31)) : rng;
}

interface ActRequest {
  readonly input: Json;
  readonly context: ToolContext;
  /** The key of the act to undo; null if the call is an act itself. */
  readonly undoes: EffectKey | null;
}

function runAct(
  sim: SimContext,
  worker: WorkerProcess,
  tool: Tool,
  { input, context, undoes }: ActRequest,
): Promise<unknown> {
  const { observer, world, scheduler } = sim;
  const { run_id: run, step_id: step, attempt } = context;
  observer.observeAct(tool, input, context, worker.number);
  const timeoutMs = observer.findTimeout(run, step) ?? tool.timeoutMs;
  const fate = applyErrorsMean(tool, world.isSilent() ? "throw after" : drawToolFate(sim));
  const latency = drawLatency(sim, timeoutMs, tool.settleAfterMs);
  const landsAfterMs = drawLandingDelay(sim, fate, latency, timeoutMs + tool.settleAfterMs);
  if (landsAfterMs !== null && landsAfterMs > timeoutMs) sim.counts.lateLandings += 1;
  const details = {
    tool: tool.name,
    run,
    step,
    attempt,
    key: context.key as EffectKey,
    effectName: observer.effectName(tool, input, context),
    undoes,
  };
  const request = world.send(
    { ...details, sender: worker.number, epoch: observer.get(run)?.epoch ?? 0, knownForMs: tool.idempotentForMs },
    landsAfterMs === null ? null : scheduler.now() + landsAfterMs,
  );
  emitSideOutputs(sim, context, input);
  if (sim.config.usesState && sim.rng.chance(0.8))
    sim.stateVersions.addOperations(context, dispatchStateEvent(sim.rng, context));
  return new Promise((resolve, reject) => {
    const listener = { open: true };
    handleAbort(sim, request, context, (why) => {
      listener.open = false;
      reject(why);
    });
    const value = undoes === null ? toolAnswer(tool, input, context.key) : { undone: true };
    answerLater(sim, worker, latency, `${step}.${attempt} ${fate}`, () => {
      if (fate === "value") resolve(value);
      else if (fate === "lie") resolve(undoes === null ? { lie: true } : value);
      else if (fate === "throw before" && latency % 2 === 0) resolve({ success: false });
      else reject(drawToolError(sim, fate));
      if (listener.open && (fate === "value" || fate === "lie")) observer.observeAnswer(request);
    });
  });
}

/** A tool with `errorsMean: "not_done"` does not throw after its effect. */
function applyErrorsMean(tool: Tool, fate: ToolFate): ToolFate {
  return tool.errorsMean === "not_done" && fate === "throw after" ? "throw before" : fate;
}

/** Returns when the request reaches the world: before the answer if the answer reports success; null: never. */
function drawLandingDelay({ rng }: SimContext, fate: ToolFate, latency: number, longestMs: number): number | null {
  const answered = Math.min(latency, longestMs);
  switch (fate) {
    case "not done":
    case "throw before":
      return null;
    case "throw after":
      return rng.chance(0.6) ? rng.below(answered + 1) : rng.between(answered, longestMs);
    default:
      return rng.below(answered + 1);
  }
}

function handleAbort(
  { rng, config, world }: SimContext,
  request: ToolRequest,
  { signal }: ToolContext,
  reject: (why: Error) => void,
): void {
  if (!rng.chance(config.toolBehaviour.obeysAbort)) return;
  signal.addEventListener(
    "abort",
    () => {
      if (rng.chance(0.5)) world.drop(request);
      reject(new Error("aborted"));
    },
    { once: true },
  );
}

const transientCodes: readonly FaultCode[] = ["NETWORK_TIMEOUT", "TRANSIENT_DB_LOCK", "TEMPORARY_PROVIDER_ERROR"];

function drawToolError({ rng }: SimContext, fate: ToolFate): Error {
  const code = rng.chance(0.7) ? rng.pick(transientCodes) : "TOOL_FAILED";
  if (fate === "not done") return notDone(code, "nothing happened");
  return rng.chance(0.5)
    ? new FaultError(fault(code, "the simulated tool failed"))
    : new Error("the simulated tool failed");
}

function toolAnswer({ name, redact }: Tool, input: Json, id: string): Json {
  if (name === SILENT_TOOL) return null;
  const answer = { tenant: (input as JsonObject).tenant as string, id, n: 1 };
  return redact.length === 0 ? answer : { ...answer, password: SECRET_OUTPUT };
}

/** Emits random cost, notices and errands. Only steps of a plan send errands; errands of errands would never end. */
function emitSideOutputs({ rng, config, observer, limits }: SimContext, context: ToolContext, input: Json): void {
  const { sideOutputs } = config.toolBehaviour;
  const { tenant, to } = input as { readonly tenant: string; readonly to: string };
  // Under a budget every call reports its cost, so the expected cost cannot pass for the actual cost.
  const usd_micros = limits !== null || rng.chance(sideOutputs) ? rng.between(1, 900) : 0;
  const notices = rng.chance(sideOutputs) ? 1 : 0;
  const errands = !context.step_id.includes(".") && rng.chance(sideOutputs / 2) ? 1 : 0;
  if (usd_micros > 0) context.cost({ usd_micros, tokens_in: rng.below(5) });
  if (notices > 0) context.notice("told", { to });
  if (errands > 0) context.errand(rng.pick(["calc", "ask", "mail", "save", "pay"]), { tenant, to, text: "errand" });
  observer.observeSideOutputs(context, { usd_micros, notices, errands });
}

/** A verifier sees the world as it is at some time between its call and its answer. */
function verifyInWorld(sim: SimContext, worker: WorkerProcess, tool: Tool, probe: Probe): Promise<Sighting> {
  const { rng, world, config } = sim;
  return new Promise((resolve, reject) => {
    const unavailable = world.isSilent() || rng.chance(config.toolBehaviour.cannotVerify);
    const seenAtCall = rng.chance(0.5) ? world.isInEffect(probe.key) : null;
    const latency = drawLatency(sim, tool.timeoutMs, 0);
    answerLater(sim, worker, latency, `verify ${tool.name}`, () => {
      if (unavailable && latency % 2 === 0) reject(new Error("the verifier cannot reach the world"));
      else if (unavailable) resolve({ saw: "unknown" });
      else if (!(seenAtCall ?? world.isInEffect(probe.key))) resolve({ saw: "absent" });
      else
        resolve({
          saw: "happened",
          output: rng.chance(config.toolBehaviour.invalidOutput / 3)
            ? { lie: true }
            : toolAnswer(tool, probe.input, probe.key),
        });
    });
  });
}
