import type { Resolution } from "../../core/decide/command.ts";
import { findStep, type Step } from "../../core/run/run.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, StepId, Tenant } from "../../core/values/ids.ts";
import { type Json, sameJson } from "../../core/values/json.ts";
import type { ResolveOptions } from "../api/engine-api.ts";
import { loadRun } from "../journal/load-run.ts";
import { digestOfJson } from "../ports/digest.ts";
import { redactOutput, toStorableJsonOrNull } from "../ports/storable-json.ts";
import { readEarnedTrust } from "../rules/read-earned-trust.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/**
 * Returns the options of a resolution that a person will approve later: they name the attempt that the asker sees. Throws
 * if the resolution cannot be made, or if the request would store an output that the tool redacts.
 */
export async function pinResolution(
  ports: WorkerPorts,
  tenant: Tenant,
  run: RunId,
  step_id: StepId,
  options: ResolveOptions,
): Promise<ResolveOptions> {
  const step = findStep((await loadRun(ports.store, tenant, run)).run, step_id);
  if (step === undefined) throw new FaultError(fault("STEP_NOT_FOUND", `run ${run} has no step ${step_id}`));
  const resolution = await readResolution(ports, tenant, run, step_id, options);
  if (options.as === "happened" && resolution.as === "happened") {
    if (resolution.flaw !== null) throw new FaultError(resolution.flaw);
    const redacts = (ports.toolbox.get(step.spec.name)?.redact ?? []).length > 0;
    if (redacts && !sameJson(resolution.output, options.output ?? null)) {
      const message = `${step.spec.name} redacts its output, and a held request would store it; resolve it as a principal that no policy holds`;
      throw new FaultError(fault("NOT_POSSIBLE", message));
    }
  }
  const attempt = options.attempt ?? step.act?.attempt ?? null;
  return attempt === null ? options : { ...options, attempt };
}

/** Returns the options of a refused resolution as they are recorded: an output that a tool may redact is a digest. */
export async function redactResolution(
  ports: WorkerPorts,
  tenant: Tenant,
  run: RunId,
  step_id: StepId,
  options: ResolveOptions,
): Promise<ResolveOptions> {
  const { output: given } = options as { readonly output?: Json };
  if (given === undefined) return options;
  const loaded = await loadRun(ports.store, tenant, run).catch(() => null);
  const name = loaded === null ? null : (findStep(loaded.run, step_id)?.spec.name ?? null);
  const tool = name === null ? undefined : ports.toolbox.get(name);
  const output = toStorableJsonOrNull(given);
  const shown = tool === undefined ? { redacted: digestOfJson(output) } : redactOutput(output, tool);
  return { ...options, output: shown } as ResolveOptions;
}

/** Reads a resolution. A given output must fit the tool's output schema, because dependent steps use it. */
export async function readResolution(
  ports: WorkerPorts,
  tenant: Tenant,
  run: RunId,
  step_id: StepId,
  options: ResolveOptions,
): Promise<Resolution> {
  if (options.as !== "happened" && "output" in options && options.output !== undefined)
    throw new FaultError(fault("INVALID_INPUT", "an output is only for an act that happened"));
  if (options.as === "absent" || options.as === "give_up" || options.as === "verify") return { as: options.as };
  if (options.as !== "happened" && options.as !== "undo")
    throw new FaultError(fault("INVALID_INPUT", `as must be happened, absent, undo, give_up or verify`));
  const loaded = (await loadRun(ports.store, tenant, run)).run;
  const step = findStep(loaded, step_id);
  const name = step?.spec.name ?? "";
  if (options.as === "undo") {
    const record = await readEarnedTrust(ports, tenant, name, loaded.principal.id);
    return { as: "undo", tool: ports.toolbox.facts(name), record };
  }
  if (step?.cause?.by === "undo") return readUndone(ports, step, options.output);
  if (step === undefined || step.act === null) {
    const flaw = fault("NOT_POSSIBLE", `${step_id} was never started, so it has no outcome to settle`);
    return { as: "happened", output: null, flaw };
  }
  return readHappened(ports, step, options.output);
}

/** The output of a compensation has no schema. */
function readUndone({ toolbox }: WorkerPorts, { spec }: Step, given: Json | undefined): Resolution {
  if (given === undefined) return { as: "happened", output: null, flaw: null };
  const tool = toolbox.get(spec.name);
  if (tool === undefined) throw new FaultError(missingToolFault(spec));
  return { as: "happened", output: redactOutput(toStorableJsonOrNull(given), tool), flaw: null };
}

function readHappened({ toolbox }: WorkerPorts, { spec }: Step, given: Json | undefined): Resolution {
  const tool = toolbox.get(spec.name);
  if (tool === undefined) {
    if (given === undefined) return { as: "happened", output: null, flaw: null, missing: missingOutputFault(spec) };
    throw new FaultError(missingToolFault(spec));
  }
  const parsed = tool.output.parse(given ?? null);
  if (parsed.ok) return { as: "happened", output: redactOutput(parsed.value, tool), flaw: null };
  const message = `the output given for ${spec.step_id} does not fit ${spec.name}: ${parsed.fault.message}; pass an output of the tool`;
  return { as: "happened", output: null, flaw: { ...parsed.fault, message } };
}

/** Without its tool, an output can neither be checked nor redacted. */
function missingToolFault({ step_id, name }: Step["spec"]): Fault {
  const message = `${name} is not registered here, so the output of ${step_id} cannot be checked; register it, or leave the output out`;
  return fault("TOOL_MISSING", message);
}

function missingOutputFault({ step_id, name }: Step["spec"]): Fault {
  const message = `${step_id} happened, and its output is unknown; resolve it again with the output where ${name} is registered`;
  return fault("SCHEMA_VALIDATION_FAILED", message);
}
