import { actFinding } from "../../core/decide/act-finding.ts";
import type { VerifiedChange } from "../../core/event/verified-act.ts";
import { findStep, type Run, type Step } from "../../core/run/run.ts";
import type { ExternalChange } from "../../core/tool/external-change.ts";
import type { Sighting, Tool } from "../../core/tool/tool.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import type { Instant } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import { downstreamKey } from "../ports/digest.ts";
import { outputAsPlainData } from "../ports/output-as-plain-data.ts";
import { redactOutput, toStorableJsonOrNull } from "../ports/storable-json.ts";
import { errorText } from "../ports/thrown-fault.ts";
import type { CallPorts } from "./call-ports.ts";

export interface VerifierAnswer {
  readonly sighting: Sighting;
  /** The observed output does not match the output schema of the tool. */
  readonly flaw: Fault | null;
}

const UNKNOWN_ANSWER: VerifierAnswer = {
  sighting: { saw: "unknown", why: "this worker does not have its verifier" },
  flaw: null,
};

/** Asks the verifier whether an act of this run happened. A verifier that throws or times out answers unknown. */
export async function verifyAct(ports: CallPorts, run: Run, step: Step): Promise<VerifierAnswer> {
  const tool = ports.toolbox.get(step.spec.name);
  if (step.cause?.by === "undo") return verifyUndo(ports, run, step, tool);
  const { call, act } = step;
  if (tool?.verify == null || call?.key == null) return UNKNOWN_ANSWER;
  const asked = { key: downstreamKey(call.key, act?.generation ?? 1), input: call.input, output: act?.output ?? null };
  return askVerifier(ports, tool, { ...asked, since: act?.started_at ?? run.accepted_at });
}

/** Asks whether a recorded act is still in effect. Null: its tool has no verifier. */
export async function sightRecordedAct(ports: CallPorts, run: Run, step: Step): Promise<Sighting | null> {
  const tool = ports.toolbox.get(step.spec.name);
  if (tool !== undefined && tool.verify === null) return null;
  return (await verifyAct(ports, run, step)).sighting;
}

/** Asks the verifier of changes about each change that a recorded act made, one after the other. */
export async function sightRecordedChanges(
  ports: CallPorts,
  step: Step,
): Promise<readonly Omit<VerifiedChange, "change">[]> {
  const tool = ports.toolbox.get(step.spec.name);
  const findings: Omit<VerifiedChange, "change">[] = [];
  for (const change of step.act?.changes ?? []) {
    const { verifyChange } = tool ?? {};
    if (tool !== undefined && verifyChange === null) findings.push({ found: "not_verifiable", why: null });
    else findings.push(actFinding((await askChangeVerifier(ports, tool, step, change)).sighting));
  }
  return findings;
}

async function askChangeVerifier(
  ports: CallPorts,
  tool: Tool | undefined,
  { call, act }: Step,
  change: ExternalChange,
): Promise<VerifierAnswer> {
  if (tool?.verifyChange == null || call?.key == null) return UNKNOWN_ANSWER;
  const { verifyChange } = tool;
  const key = downstreamKey(call.key, act?.generation ?? 1);
  return withinTimeout(
    ports,
    tool,
    (signal) => verifyChange({ change, key, input: call.input, signal }),
    readPlainSighting,
  );
}

/** The answer of a verifier is untrusted: an answer of another form counts as unknown. */
function readPlainSighting(_: Tool, sighting: Sighting): VerifierAnswer {
  if (sighting.saw !== "happened" && sighting.saw !== "absent")
    return { sighting: { saw: "unknown", ...readWhy(sighting.why) }, flaw: null };
  if (sighting.saw === "absent") return { sighting: { saw: "absent" }, flaw: null };
  const { differs } = sighting;
  return {
    sighting: { saw: "happened", output: null, ...(differs !== undefined && { differs: errorText(differs) }) },
    flaw: null,
  };
}

/** An undo has happened if its act is gone. */
async function verifyUndo(ports: CallPorts, run: Run, step: Step, tool: Tool | undefined): Promise<VerifierAnswer> {
  const original = step.cause?.by === "undo" ? findStep(run, step.cause.of) : undefined;
  if (original === undefined || tool === undefined) return UNKNOWN_ANSWER;
  const { sighting } = await verifyAct(ports, run, { ...original, cause: null });
  if (sighting.saw === "absent") return { sighting: { saw: "happened", output: null }, flaw: null };
  return sighting.saw === "happened" ? { sighting: { saw: "absent" }, flaw: null } : { sighting, flaw: null };
}

interface VerifierInput {
  readonly key: Parameters<NonNullable<Tool["verify"]>>[0]["key"];
  readonly input: Json;
  readonly output: Json | null;
  readonly since: Instant;
}

export async function askVerifier(ports: CallPorts, tool: Tool, asked: VerifierInput): Promise<VerifierAnswer> {
  const { verify } = tool;
  if (verify === null) return UNKNOWN_ANSWER;
  return withinTimeout(ports, tool, (signal) => verify({ ...asked, signal }), readSighting);
}

/** Asks a verifier. One that throws, or takes longer than a call of its tool may, answers unknown. */
async function withinTimeout(
  ports: CallPorts,
  tool: Tool,
  ask: (signal: AbortSignal) => Promise<Sighting>,
  read: (tool: Tool, sighting: Sighting) => VerifierAnswer,
): Promise<VerifierAnswer> {
  const controller = new AbortController();
  const { promise: late, disarm } = verifierTimeout(ports, tool, controller);
  try {
    return read(tool, await Promise.race([ask(controller.signal), late]));
  } catch (error) {
    return { sighting: { saw: "unknown", why: errorText(error) }, flaw: null };
  } finally {
    disarm();
  }
}

function verifierTimeout(
  ports: CallPorts,
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

/** The answer of a verifier is untrusted: an answer of another form counts as unknown. */
function readSighting(tool: Tool, sighting: Sighting): VerifierAnswer {
  if (sighting.saw === "absent") return { sighting: { saw: "absent" }, flaw: null };
  if (sighting.saw !== "happened") return { sighting: { saw: "unknown", ...readWhy(sighting.why) }, flaw: null };
  const { value } = outputAsPlainData(sighting.output);
  const parsed = tool.output.parse(value);
  const { differs } = sighting;
  const seen = { saw: "happened", ...(differs !== undefined && { differs: errorText(differs) }) } as const;
  if (parsed.ok) return { sighting: { ...seen, output: redactOutput(parsed.value, tool) }, flaw: null };
  const message = `${tool.name}: the output that its verifier saw does not match the output schema: ${parsed.fault.message}`;
  const kept = redactOutput(toStorableJsonOrNull(value), tool);
  return { sighting: { ...seen, output: kept }, flaw: fault("SCHEMA_VALIDATION_FAILED", message) };
}

function readWhy(why: unknown): { readonly why?: string } {
  return why === undefined ? {} : { why: errorText(why) };
}
