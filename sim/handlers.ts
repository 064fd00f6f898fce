import { type FaultCode, FaultError, fault, notDone } from "../src/core/fault.ts";
import type { EffectKey } from "../src/core/id.ts";
import type { Json, JsonObject } from "../src/core/json/json.ts";
import type { Done, Probe, Sighting, Tool, ToolContext } from "../src/core/tool.ts";
import type { Deed } from "./books.ts";
import { cast, MUTE, SECRET } from "./cast.ts";
import { clerks, tell, work } from "./desk.ts";
import type { Life } from "./life.ts";
import { EXPECTED_USD } from "./limits.ts";
import { Rng } from "./rng.ts";
import type { Scene } from "./scene.ts";
import type { Dispatch } from "./world.ts";

/** The cast as one worker has it: every call goes out into the shared world and comes back, or not, as chance will have it. */
export function toolsFor(scene: Scene, life: Life): readonly Tool[] {
  const company = scene.swarm.desk ? [...cast, ...clerks] : cast;
  const tools = life.missing === null ? company : company.filter(({ name }) => name !== life.missing);
  return tools.map((tool) => ({
    ...tool,
    cost: scene.limits && (() => ({ usd_micros: EXPECTED_USD })),
    run: (input, context) => {
      if (!life.alive) return never();
      return tool.effect === "acts"
        ? act(scene, life, tool, { input, context, undoes: null })
        : compute(scene, life, tool, input, context);
    },
    verify: tool.verify && ((probe) => (life.alive ? look(scene, life, tool, probe) : never())),
    compensate:
      tool.compensate &&
      ((done: Done, context) =>
        life.alive ? act(scene, life, tool, { input: done.input, context, undoes: done.key }) : never()),
  }));
}

const never = <Value>(): Promise<Value> => new Promise<Value>(() => {});

/** How a call goes, as its caller will hear it. */
type Manner = "value" | "lie" | "throw after" | "throw before" | "not done";

function drawManner({ rng, swarm: { manners } }: Scene): Manner {
  if (rng.chance(manners.notDone)) return "not done";
  if (rng.chance(manners.throwsBefore)) return "throw before";
  if (rng.chance(manners.throwsAfter)) return "throw after";
  return rng.chance(manners.lies) ? "lie" : "value";
}

function drawLatency({ rng, swarm: { manners } }: Scene, timeoutMs: number, settleMs: number): number {
  if (rng.chance(manners.late)) return timeoutMs + rng.between(1, settleMs + 2000);
  return rng.below(rng.chance(manners.slow) ? timeoutMs : 100);
}

/** The moment at which a handler is heard, unless its worker dies of it. */
function later(scene: Scene, life: Life, ms: number, about: string, settle: () => void): void {
  const { agenda, rng } = scene;
  const happen = () => {
    if (rng.chance(scene.rates.killed)) {
      life.die("while its tool answered");
      return "killed";
    }
    settle();
    return "heard";
  };
  agenda.addAt(agenda.now() + ms, { name: "answer", owner: life.number, about, happen });
}

function compute(scene: Scene, life: Life, tool: Tool, input: Json, context: ToolContext): Promise<unknown> {
  scene.record.asked(tool, input, context, life.number);
  return new Promise((resolve, reject) => {
    const manner = drawManner(scene);
    talk(scene, context, input);
    const more = attend(scene, tool, context);
    const id = `${tool.name}-${(input as JsonObject).to as string}`;
    const value = answerOf(tool, input, scene.rng.chance(scene.swarm.manners.verbose) ? id.padEnd(70_000, ".") : id);
    later(scene, life, drawLatency(scene, tool.timeoutMs, 0), context.step_id, () => {
      more();
      if (manner === "value") resolve(value);
      else if (manner === "lie") resolve({ ...(value as JsonObject), n: "many" });
      else reject(drawError(scene, manner));
    });
  });
}

/** Works on state, and goes on with that when it is called. */
function attend(scene: Scene, tool: Tool, context: ToolContext): () => void {
  if (!clerks.some(({ name }) => name === tool.name)) return () => {};
  const { shelf } = scene;
  const rng = chanceOf(scene, tool, context);
  const writes = tool.effect === "writes";
  const deeds: Deed[] = [...work(rng, context, rng.between(1, 3), writes)];
  shelf.works(context, deeds);
  return () => void deeds.push(...work(rng, context, rng.between(0, 3), writes));
}

/** Whoever shows first what it will do does the same when it does it; some do not. */
function chanceOf({ rng, rules }: Scene, tool: Tool, { random }: ToolContext): Rng {
  return rules?.asking.has(tool.name) && rng.chance(0.9) ? new Rng(Math.floor(random() * 2 ** 31)) : rng;
}

interface Wish {
  readonly input: Json;
  readonly context: ToolContext;
  /** The key of the act to be undone; null for an act. */
  readonly undoes: EffectKey | null;
}

function act(scene: Scene, life: Life, tool: Tool, { input, context, undoes }: Wish): Promise<unknown> {
  const { record, world, agenda } = scene;
  const { run_id: run, step_id: step, attempt } = context;
  record.acting(tool, input, context, life.number);
  const timeoutMs = record.timeoutOf(run, step) ?? tool.timeoutMs;
  const manner = honest(tool, world.isUnheard() ? "throw after" : drawManner(scene));
  const latency = drawLatency(scene, timeoutMs, tool.settleAfterMs);
  const landsIn = drawLanding(scene, manner, latency, timeoutMs + tool.settleAfterMs);
  if (landsIn !== null && landsIn > timeoutMs) scene.counts.lateLandings += 1;
  const request = {
    tool: tool.name,
    run,
    step,
    attempt,
    key: context.key as EffectKey,
    fact: record.factOf(tool, input, context),
    undoes,
  };
  const dispatch = world.dispatch(
    { ...request, sender: life.number, epoch: record.get(run)?.epoch ?? 0, knownForMs: tool.idempotentForMs },
    landsIn === null ? null : agenda.now() + landsIn,
  );
  talk(scene, context, input);
  if (scene.swarm.desk && scene.rng.chance(0.8)) scene.shelf.works(context, tell(scene.rng, context));
  return new Promise((resolve, reject) => {
    const ear = { open: true };
    heedAbort(scene, dispatch, context, (why) => {
      ear.open = false;
      reject(why);
    });
    const value = undoes === null ? answerOf(tool, input, context.key) : { undone: true };
    later(scene, life, latency, `${step}.${attempt} ${manner}`, () => {
      if (manner === "value") resolve(value);
      else if (manner === "lie") resolve(undoes === null ? { lie: true } : value);
      else if (manner === "throw before" && latency % 2 === 0) resolve({ success: false });
      else reject(drawError(scene, manner));
      if (ear.open && (manner === "value" || manner === "lie")) record.answered(dispatch);
    });
  });
}

/** Some tools promise that an error means that nothing happened. */
function honest(tool: Tool, manner: Manner): Manner {
  return tool.errorsMean === "not_done" && manner === "throw after" ? "throw before" : manner;
}

/** When it lands: before its answer where that says so, else whenever the network likes; null for never. */
function drawLanding({ rng }: Scene, manner: Manner, latency: number, longestMs: number): number | null {
  const answered = Math.min(latency, longestMs);
  switch (manner) {
    case "not done":
    case "throw before":
      return null;
    case "throw after":
      return rng.chance(0.6) ? rng.below(answered + 1) : rng.between(answered, longestMs);
    default:
      return rng.below(answered + 1);
  }
}

function heedAbort(
  { rng, swarm, world }: Scene,
  dispatch: Dispatch,
  { signal }: ToolContext,
  reject: (why: Error) => void,
): void {
  if (!rng.chance(swarm.manners.heedsAbort)) return;
  signal.addEventListener(
    "abort",
    () => {
      if (rng.chance(0.5)) world.recall(dispatch);
      reject(new Error("aborted"));
    },
    { once: true },
  );
}

const passing: readonly FaultCode[] = ["NETWORK_TIMEOUT", "TRANSIENT_DB_LOCK", "TEMPORARY_PROVIDER_ERROR"];

function drawError({ rng }: Scene, manner: Manner): Error {
  const code = rng.chance(0.7) ? rng.pick(passing) : "TOOL_FAILED";
  if (manner === "not done") return notDone(code, "nothing happened");
  return rng.chance(0.5) ? new FaultError(fault(code, "it went wrong")) : new Error("it went wrong");
}

function answerOf({ name, redact }: Tool, input: Json, id: string): Json {
  if (name === MUTE) return null;
  const answer = { tenant: (input as JsonObject).tenant as string, id, n: 1 };
  return redact.length === 0 ? answer : { ...answer, password: SECRET };
}

/** What a handler says beside its answer. Only plan steps send errands, or there would be no end of them. */
function talk({ rng, swarm, record, limits }: Scene, context: ToolContext, input: Json): void {
  const { talks } = swarm.manners;
  const { tenant, to } = input as { readonly tenant: string; readonly to: string };
  // Where money is limited, every call says what it cost: what was expected must not pass for that.
  const usd_micros = limits !== null || rng.chance(talks) ? rng.between(1, 900) : 0;
  const notices = rng.chance(talks) ? 1 : 0;
  const errands = !context.step_id.includes(".") && rng.chance(talks / 2) ? 1 : 0;
  if (usd_micros > 0) context.cost({ usd_micros, tokens_in: rng.below(5) });
  if (notices > 0) context.notice("told", { to });
  if (errands > 0) context.errand(rng.pick(["calc", "ask", "mail", "save", "pay"]), { tenant, to, text: "errand" });
  record.said(context, { usd_micros, notices, errands });
}

/** A verifier sees the world as it was at some moment between question and answer. */
function look(scene: Scene, life: Life, tool: Tool, probe: Probe): Promise<Sighting> {
  const { rng, world, swarm } = scene;
  return new Promise((resolve, reject) => {
    const blind = world.isUnheard() || rng.chance(swarm.manners.blind);
    const early = rng.chance(0.5) ? world.stands(probe.key) : null;
    const latency = drawLatency(scene, tool.timeoutMs, 0);
    later(scene, life, latency, `look ${tool.name}`, () => {
      if (blind && latency % 2 === 0) reject(new Error("cannot look"));
      else if (blind) resolve({ saw: "unknown" });
      else if (!(early ?? world.stands(probe.key))) resolve({ saw: "absent" });
      else
        resolve({
          saw: "happened",
          output: rng.chance(swarm.manners.lies / 3) ? { lie: true } : answerOf(tool, probe.input, probe.key),
        });
    });
  });
}
