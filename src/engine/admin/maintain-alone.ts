import { waitTimes } from "../../core/time/wait-times.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Runs a retention or a backup while no other one runs on the store, in any process. Waits a while for its turn. */
export async function maintainAlone<Result>(ports: WorkerPorts, work: () => Promise<Result>): Promise<Result> {
  const end = await beginMaintenance(ports);
  try {
    return await work();
  } finally {
    end();
  }
}

async function beginMaintenance({ store, timers }: WorkerPorts): Promise<() => void> {
  const { maintenanceMs, maintenancePauseMs } = waitTimes;
  for (let waited = 0; waited <= maintenanceMs; waited += maintenancePauseMs) {
    const end = await store.beginMaintenance();
    if (end !== null) return end;
    await new Promise<void>((resolve) => void timers.after(maintenancePauseMs, resolve));
  }
  const message = "another retention or backup of this store is under way; try again when it has ended";
  throw new FaultError(fault("STORE_BUSY", message));
}
