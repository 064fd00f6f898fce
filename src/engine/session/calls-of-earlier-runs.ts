import type { Principal } from "../../core/approval/principal.ts";
import { callNameKey, sessionKey } from "../../core/evolve/event-rows.ts";
import type { Run } from "../../core/run/run.ts";
import type { RequestRow } from "../../core/store/tables.ts";
import type { RunId } from "../../core/values/ids.ts";
import { loadRunUnlessErased } from "../messages/find-run-of-request.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Finds the calls of the earlier runs of a session. Their rows were written when their runs were closed. */
export class CallsOfEarlierRuns {
  readonly #ports: WorkerPorts;
  readonly #principal: Principal;
  /** The run that was read last. A loop that starts again asks for many calls of one run. */
  #last: { readonly id: RunId; readonly run: Run | "erased" } | null = null;

  constructor(ports: WorkerPorts, principal: Principal) {
    this.#ports = ports;
    this.#principal = principal;
  }

  /** Returns the earlier run that has the call, or null if none has it. `run` is the current run of the session. */
  async find(run: Run, call: string): Promise<Run | "erased" | null> {
    if (run.opened === null) return null;
    const session = sessionKey(run.principal.id, { ...run, opened: run.opened });
    const stored = await this.#ports.store.row(run.tenant, "request", callNameKey(session, call));
    if (stored === null) return null;
    const { run_id } = JSON.parse(stored.row) as RequestRow;
    if (this.#last?.id !== run_id || (this.#last.run !== "erased" && this.#last.run.ended === null)) {
      const found = (await loadRunUnlessErased(this.#ports, this.#principal, run_id)) ?? "erased";
      this.#last = { id: run_id, run: found };
    }
    return this.#last.run;
  }
}
