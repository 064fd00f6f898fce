import type { Proposal } from "../../core/call/proposal.ts";
import type { Grant } from "../../core/decide/command.ts";
import { isHostAtWork, type Step } from "../../core/run/step.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest, EffectKey, Instant, RunId, StepId } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import { digestOfParts, downstreamKey } from "../ports/digest.ts";
import type { CallPorts } from "./call-ports.ts";

/** Work that the host of an agent waits to begin. Only its process knows the secret. */
export interface HostWork {
  readonly secret: string;
  /** How long the host has. Null: the timeout of the tool. */
  readonly forMs: number | null;
  /** Null until the call may be made: its start is on record, and its marker is written. */
  begun: BegunWork | null;
}

/** The call that the host makes now. */
interface BegunWork {
  /** Ends the call, from any process. It is never stored. */
  readonly token: string;
  readonly until: Instant;
  /** The input as it was admitted. An approver may have changed it. */
  readonly input: Json;
  /** Pass it to the receiver as the idempotency key. Empty for a tool that does not act. */
  readonly key: EffectKey | "";
  /** The W3C trace context of the work. */
  readonly traceparent: string;
}

/** Two ids have 160 random bits. */
export function newHostWork({ newId, clock }: CallPorts, forMs: number | null): HostWork {
  const now = clock.now();
  return { secret: newId("end", now) + newId("end", now), forMs, begun: null };
}

function secretDigest(secret: string): Digest {
  return digestOfParts("writ/call-token/v1", secret);
}

/** Returns the proposal of a call whose work the host does itself. The engine cannot restore what the host changes. */
export function withHostWork(proposal: Proposal, { secret, forMs }: HostWork): Proposal {
  const { tool, captures, flaw } = proposal;
  if (tool === null) return proposal;
  const external = { token: secretDigest(secret), for_ms: forMs ?? tool.timeoutMs };
  if (captures !== "wanted") return { ...proposal, external };
  const message = `${tool.name} changes resources that the engine captures and restores; call it by callTool`;
  return { ...proposal, external, captures: [], flaw: flaw ?? fault("NOT_POSSIBLE", message) };
}

/** Tells the host to begin. */
export function beginWork(
  work: HostWork,
  run: RunId,
  { step_id, attempt, generation, proposal }: Grant,
  until: Instant,
  traceparent: string,
): void {
  const { call, input } = proposal;
  const key = call?.key == null ? "" : downstreamKey(call.key, generation);
  work.begun = { token: [run, step_id, attempt, work.secret].join("/"), until, input, key, traceparent };
}

/** True if the recorded attempt of the step is this work, and has not ended. */
export function isWorkOf(step: Step | undefined, { secret }: HostWork): boolean {
  return step !== undefined && isHostAtWork(step) && step.external?.token === secretDigest(secret);
}

/** The attempt that a token ends. */
export interface TokenOfCall {
  readonly run_id: RunId;
  readonly step_id: StepId;
  readonly attempt: number;
  readonly digest: Digest;
}

/** Reads the token of a begun call. Throws AUTH_FORBIDDEN if it is none. */
export function readCallToken(token: unknown): TokenOfCall {
  const [run_id, step_id, attempt, secret, ...more] = typeof token === "string" ? token.split("/") : [];
  if (!run_id || !step_id || !attempt || !secret || more.length > 0) throw forbiddenToken();
  return {
    run_id: run_id as RunId,
    step_id: step_id as StepId,
    attempt: Number(attempt),
    digest: secretDigest(secret),
  };
}

/** The same answer for every wrong token, so that it tells nothing about calls of others. */
export function forbiddenToken(): FaultError {
  return new FaultError(fault("AUTH_FORBIDDEN", "only the token that beginCall returned ends the call"));
}
