import { FaultError, fault } from "../../core/fault.ts";
import type { Tenant } from "../../core/id.ts";
import type { Json } from "../../core/json/json.ts";
import type { RequestRow } from "../../core/rows.ts";
import { signalRequestKey } from "../../core/rows-of.ts";
import type { Request } from "../../core/signal.ts";
import type { Reception } from "../api.ts";
import { digestOfJson } from "../digest.ts";
import type { Ports } from "../ports.ts";
import { RowLost } from "../record/mailbox.ts";
import type { Holds } from "../watch/holds.ts";
import { boxOf, keepIn } from "./boxes.ts";

/** A signal as it is sent. With an id of its own, sending it again is sending it once. */
export interface Signal {
  readonly key: string;
  readonly payload: Json;
  readonly by: string;
  readonly id: string | null;
}

/** Hands a signal to the first who waits for it, or keeps it in its box until someone does. Exactly one of the two. */
export async function send(ports: Ports, holds: Holds, tenant: Tenant, signal: Signal): Promise<Reception> {
  const signal_id = ports.newId("sig", ports.clock.now());
  const request = signal.id === null ? null : { key: signal.id, digest: digestOfJson(signal.payload) };
  for (;;) {
    if (request !== null && (await wasSent(ports, tenant, signal, request))) return "duplicate";
    try {
      return await receive(ports, holds, tenant, { ...signal, signal_id, request });
    } catch (error) {
      // Someone else sent, waited or took in between: what is true now decides.
      if (!(error instanceof RowLost)) throw error;
    }
  }
}

type Sending = Signal & { readonly signal_id: string; readonly request: Request | null };

async function wasSent({ store }: Ports, tenant: Tenant, { key }: Signal, request: Request): Promise<boolean> {
  const stored = await store.row(tenant, "request", signalRequestKey(key, request.key));
  if (stored === null) return false;
  const { digest } = JSON.parse(stored.row) as RequestRow;
  if (digest === request.digest) return true;
  const message = `signal ${request.key} to ${key} was sent before with another payload; give a new signal a new id`;
  throw new FaultError(fault("REQUEST_KEY_REUSED", message));
}

async function receive(ports: Ports, holds: Holds, tenant: Tenant, sending: Sending): Promise<Reception> {
  const box = await boxOf(ports, tenant, sending.key);
  for (const [index, { run_id, step_id }] of box.waiters.entries()) {
    const { signal_id, payload, by, request } = sending;
    const rest = { ...box, waiters: box.waiters.slice(index + 1) };
    const now = ports.clock.now();
    const told = await holds
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
      .catch(unlessGone);
    if (told !== null && told.events.length > 0) return "delivered";
  }
  await keepIn(ports, tenant, { ...box, waiters: [] }, sending);
  return "kept";
}

/** A run that retention has emptied waits for nothing. */
function unlessGone(error: unknown): null {
  if (error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND") return null;
  throw error;
}
