import { type Fault, fault } from "../../core/fault.ts";
import type { Instant } from "../../core/id.ts";
import type { Json } from "../../core/json/json.ts";
import { findStep, type Run, type Step } from "../../core/run.ts";
import type { Sighting, Tool } from "../../core/tool.ts";
import { downstreamKey } from "../digest.ts";
import type { Ports } from "../ports.ts";
import { redacted, storable } from "./keep.ts";
import { textOf } from "./thrown.ts";

export interface Seen {
  readonly sighting: Sighting;
  /** What was seen does not fit the tool's output schema. */
  readonly flaw: Fault | null;
}

const UNKNOWN: Seen = { sighting: { saw: "unknown", why: "its verifier is not here" }, flaw: null };

/** Asks the world about an act of this run. A verifier that throws or takes too long has seen nothing. */
export async function look(ports: Ports, run: Run, step: Step): Promise<Seen> {
  const tool = ports.toolbox.get(step.spec.name);
  if (step.cause?.by === "undo") return lookForUndo(ports, run, step, tool);
  const { call, act } = step;
  if (tool?.verify == null || call?.key == null) return UNKNOWN;
  const asked = { key: downstreamKey(call.key, act?.generation ?? 1), input: call.input, output: act?.output ?? null };
  return ask(ports, tool, { ...asked, since: act?.started_at ?? run.accepted_at });
}

/** An undo has happened when what it undoes is gone. */
async function lookForUndo(ports: Ports, run: Run, step: Step, tool: Tool | undefined): Promise<Seen> {
  const original = step.cause?.by === "undo" ? findStep(run, step.cause.of) : undefined;
  if (original === undefined || tool === undefined) return UNKNOWN;
  const { sighting } = await look(ports, run, { ...original, cause: null });
  if (sighting.saw === "absent") return { sighting: { saw: "happened", output: null }, flaw: null };
  return sighting.saw === "happened" ? { sighting: { saw: "absent" }, flaw: null } : { sighting, flaw: null };
}

interface Asked {
  readonly key: Parameters<NonNullable<Tool["verify"]>>[0]["key"];
  readonly input: Json;
  readonly output: Json | null;
  readonly since: Instant;
}

export async function ask(ports: Ports, tool: Tool, asked: Asked): Promise<Seen> {
  if (tool.verify === null) return UNKNOWN;
  const controller = new AbortController();
  const { promise: late, disarm } = timeout(ports, tool, controller);
  try {
    const sighting = await Promise.race([tool.verify({ ...asked, signal: controller.signal }), late]);
    return seen(tool, sighting);
  } catch (error) {
    return { sighting: { saw: "unknown", why: textOf(error) }, flaw: null };
  } finally {
    disarm();
  }
}

function timeout(
  ports: Ports,
  tool: Tool,
  controller: AbortController,
): { readonly promise: Promise<Sighting>; readonly disarm: () => void } {
  let disarm = () => {};
  const promise = new Promise<Sighting>((resolve) => {
    disarm = ports.timers.after(tool.timeoutMs, () => {
      controller.abort();
      resolve({ saw: "unknown", why: `its verifier did not answer within ${tool.timeoutMs} ms` });
    });
  });
  return { promise, disarm };
}

/** What it saw comes from outside: whatever is not plainly seen is unknown. */
function seen(tool: Tool, sighting: Sighting): Seen {
  if (sighting.saw === "absent") return { sighting: { saw: "absent" }, flaw: null };
  if (sighting.saw !== "happened") return { sighting: { saw: "unknown", ...said(sighting.why) }, flaw: null };
  const parsed = tool.output.parse(sighting.output);
  const { differs } = sighting;
  const seen = { saw: "happened", ...(differs !== undefined && { differs: textOf(differs) }) } as const;
  if (parsed.ok) return { sighting: { ...seen, output: redacted(parsed.value, tool) }, flaw: null };
  const message = `${tool.name}: what its verifier saw does not fit the output schema: ${parsed.fault.message}`;
  const kept = redacted(storable(sighting.output), tool);
  return { sighting: { ...seen, output: kept }, flaw: fault("SCHEMA_VALIDATION_FAILED", message) };
}

function said(why: unknown): { readonly why?: string } {
  return why === undefined ? {} : { why: textOf(why) };
}
