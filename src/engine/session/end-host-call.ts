import type { Principal } from "../../core/approval/principal.ts";
import type { HandlerResult } from "../../core/decide/handler-result.ts";
import { type CallAnswer, callAnswer } from "../../core/run/call-answer.ts";
import { findStep, getStep, type Run, type Step } from "../../core/run/run.ts";
import { toBlockedStep } from "../../core/run/run-result.ts";
import { FaultError, fault, NotDoneError } from "../../core/values/fault.ts";
import type { HostReport, ReportedFault } from "../api/open-run-api.ts";
import { assertKnownFields } from "../api/verb-options.ts";
import type { CallPorts } from "../call/call-ports.ts";
import { hostEndCommand } from "../call/host-end.ts";
import { forbiddenToken, readCallToken, type TokenOfCall } from "../call/host-work.ts";
import { readOutput } from "../call/read-output.ts";
import { endingOfThrown } from "../ports/thrown-fault.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/**
 * Records the end of work that a host did itself, and returns what became of the call. The token is the proof, so any
 * process may report. A late end is adopted while the act is in doubt.
 */
export async function endCall(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  { tenant, id: by }: Principal,
  token: string,
  report: HostReport,
): Promise<CallAnswer> {
  const named = readCallToken(token);
  const read = readReport(report);
  const { after } = await leasedRuns
    .command(tenant, named.run_id, (_, run) => {
      const step = ownStep(run, named);
      return hostEndCommand(ports, run, step, endingOf(ports, step, read), by);
    })
    .catch((error: unknown) => {
      throw error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND" ? forbiddenToken() : error;
    });
  return answerOf(after, getStep(after, named));
}

/** Returns the step whose attempt the token ends. */
function ownStep(run: Run, { step_id, attempt, digest }: TokenOfCall): Step {
  const step = findStep(run, step_id);
  if (step?.external?.token !== digest || step.external.attempt !== attempt) throw forbiddenToken();
  return step;
}

/** A report whose form was checked: an output, or the error that a handler would have thrown. */
type ReadReport = { readonly output: unknown } | { readonly error: FaultError };

function readReport(report: HostReport): ReadReport {
  assertKnownFields("the fields of the report", report, ["output", "fault", "notDone"]);
  if (Object.keys(report).length !== 1)
    throw new FaultError(fault("INVALID_INPUT", "a report has one of output, fault and notDone"));
  if ("output" in report) return report;
  if ("fault" in report) return { error: new FaultError(readFault(report.fault)) };
  return { error: new NotDoneError(readFault(report.notDone)) };
}

function readFault(given: ReportedFault) {
  assertKnownFields("the fields of the fault", given, ["code", "message"]);
  const { code = "TOOL_FAILED", message } = given;
  if (typeof message !== "string")
    throw new FaultError(fault("INVALID_INPUT", "the message of the fault must be a text"));
  return fault(code, message);
}

/** Reads the report like the end of a handler. The output is checked where the tool is registered. */
function endingOf(ports: CallPorts, { spec, pin }: Step, report: ReadReport): HandlerResult {
  if ("error" in report) return endingOfThrown(report.error);
  const tool = ports.toolbox.get(spec.name);
  const missing = ports.toolbox.mismatch(spec.name, pin);
  if (missing !== null) throw new FaultError(missing);
  if (tool === undefined)
    throw new FaultError(fault("TOOL_MISSING", `${spec.name} is not registered here; report where it is`));
  return readOutput(ports, { tool, checksOutput: true }, report.output);
}

/** Returns the answer of a call. An act in doubt is answered at once, although a verifier may still settle it. */
function answerOf(run: Run, step: Step): CallAnswer {
  const answer = callAnswer(run, step);
  if (answer !== null) return answer;
  const { standing, attempts: attempt } = step;
  if (standing.state === "in_doubt") return { status: "in_doubt", fault: standing.fault, attempt };
  return { status: "waiting", blocked: toBlockedStep(run, step) };
}
