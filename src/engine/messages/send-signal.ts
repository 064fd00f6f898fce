import type { Request } from "../../core/event/signal.ts";
import { signalRequestKey } from "../../core/evolve/event-rows.ts";
import type { RequestRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Tenant } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import type { SignalReception } from "../api/engine-api.ts";
import { ConditionFailedError } from "../journal/append-errors.ts";
import { readSignalBox, storeSignal } from "../journal/signal-box.ts";
import { digestOfJson } from "../ports/digest.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** A signal to send. A signal with an id is accepted only once. */
export interface OutgoingSignal {
  readonly key: string;
  readonly payload: Json;
  readonly by: string;
  readonly id: string | null;
}

/** Delivers a signal to the first step that waits for it, or stores it in its box. Exactly one of the two. */
export async function sendSignal(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  tenant: Tenant,
  signal: OutgoingSignal,
): Promise<SignalReception> {
  const signal_id = ports.newId("sig", ports.clock.now());
  const request = signal.id === null ? null : { key: signal.id, digest: digestOfJson(signal.payload) };
  for (;;) {
    if (request !== null && (await wasSent(ports, tenant, signal, request))) return "duplicate";
    try {
      return await deliverOrStore(ports, leasedRuns, tenant, { ...signal, signal_id, request });
    } catch (error) {
      // The box has changed meanwhile: read it again.
      if (!(error instanceof ConditionFailedError)) throw error;
    }
  }
}

type SignalDelivery = OutgoingSignal & { readonly signal_id: string; readonly request: Request | null };

async function wasSent(
  { store }: WorkerPorts,
  tenant: Tenant,
  { key }: OutgoingSignal,
  request: Request,
): Promise<boolean> {
  const stored = await store.row(tenant, "request", signalRequestKey(key, request.key));
  if (stored === null) return false;
  const { digest } = JSON.parse(stored.row) as RequestRow;
  if (digest === request.digest) return true;
  const message = `signal ${request.key} to ${key} was sent before with another payload; give a new signal a new id`;
  throw new FaultError(fault("REQUEST_KEY_REUSED", message));
}

async function deliverOrStore(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  tenant: Tenant,
  sending: SignalDelivery,
): Promise<SignalReception> {
  const box = await readSignalBox(ports, tenant, sending.key);
  for (const [index, { run_id, step_id }] of box.waiters.entries()) {
    const { signal_id, payload, by, request } = sending;
    const rest = { ...box, waiters: box.waiters.slice(index + 1) };
    const now = ports.clock.now();
    const decision = await leasedRuns
      .command(tenant, run_id, (in_flight) => ({
        type: "signal",
        now,
        signal_id,
        step_id,
        box: rest,
        payload,
        by,
        request,
        in_flight,
      }))
      .catch(ignoreMissingRun);
    if (decision !== null && decision.events.length > 0) return "delivered";
  }
  await storeSignal(ports, tenant, { ...box, waiters: [] }, sending);
  return "kept";
}

/** A run that retention has erased waits for nothing. */
function ignoreMissingRun(error: unknown): null {
  if (error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND") return null;
  throw error;
}
