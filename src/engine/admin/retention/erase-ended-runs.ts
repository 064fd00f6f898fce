import type { Instant } from "../../../core/values/ids.ts";
import type { Engine } from "../../api/engine-api.ts";
import { readForgetOptions } from "../../api/read-forget-options.ts";
import { readPrincipal } from "../../api/read-principal.ts";
import { readReason } from "../../api/read-reason.ts";
import type { ForgetOptions, RetentionReport } from "../../api/retention-report.ts";
import { requestField } from "../../journal/find-request-execution.ts";
import type { JudgedRequest } from "../../journal/judged-request.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import type { DatabaseLogTruncation } from "./database-log-truncation.ts";
import { runRetention } from "./run-retention.ts";

/** Erases the bodies of runs that ended before a time. */
export async function eraseEndedRuns(
  ports: WorkerPorts,
  logTruncation: DatabaseLogTruncation,
  options: Parameters<Engine["retain"]>[0] & JudgedRequest,
): Promise<RetentionReport> {
  const principal = readPrincipal(options.principal);
  const terms = { endedBefore: options.endedBefore as Instant, reason: readReason(options), ...requestOf(options) };
  return runRetention(ports, logTruncation, principal, terms);
}

/** Closes the runs of a session and erases their bodies. */
export async function forgetRuns(
  ports: WorkerPorts,
  logTruncation: DatabaseLogTruncation,
  options: ForgetOptions & JudgedRequest,
): Promise<RetentionReport> {
  const principal = readPrincipal(options.principal);
  const session = readForgetOptions(principal, options);
  const terms = { endedBefore: ports.clock.now(), reason: readReason(options), session, ...requestOf(options) };
  return runRetention(ports, logTruncation, principal, terms);
}

function requestOf(options: JudgedRequest): JudgedRequest {
  return { ...requestField(options), checks: options.checks ?? [] };
}
