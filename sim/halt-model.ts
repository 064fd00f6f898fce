import type { Run } from "../src/core/run/run.ts";
import { type Entry, sharedTenant } from "../src/core/store/store.ts";
import type { Tenant } from "../src/core/values/ids.ts";
import { readEventBody } from "./read-event-body.ts";
import type { SimContext } from "./sim-context.ts";

/** A halt in force over everything, a tenant, or a run. */
export interface ModelHalt {
  readonly tenant: Tenant;
  readonly over: string;
  readonly since: number;
  /** The order among all halts and lookups, which also orders those of the same millisecond. */
  readonly order: number;
}

/** A lookup of the halt rows by a worker: the time of its answer, and its order among halts and lookups. */
interface HaltLookup {
  readonly answered: number;
  readonly order: number;
}

/** The halts in force, derived from the halt journals as they are written. */
export class HaltModel {
  readonly #halts = new Map<string, ModelHalt>();
  readonly #lifted = new Set<string>();
  /** By worker and tenant: the last three lookups, the latest first. */
  readonly #lookups = new Map<string, readonly HaltLookup[]>();
  #order = 0;

  /** Applies an entry of a halt journal. */
  apply(sim: SimContext, { tenant, events }: Entry): void {
    for (const { type, body } of events) {
      const { over } = JSON.parse(readEventBody(sim.tables, tenant, body)) as { readonly over: readonly string[] };
      for (const each of over) {
        const name = haltName(tenant, each);
        if (type === "halt.set" && this.#halts.has(name)) sim.violate(`I22: ${each} was halted twice`);
        if (type === "halt.lifted" && !this.#halts.has(name))
          sim.violate(`I22: ${each} was lifted, though it was not halted`);
        if (type === "halt.set")
          this.#halts.set(name, { tenant, over: each, since: sim.scheduler.now(), order: this.#next() });
        else this.#halts.delete(name);
        if (type === "halt.lifted") this.#lifted.add(name);
      }
      sim.counts[type === "halt.set" ? "halts" : "lifts"] += 1;
    }
  }

  #next(): number {
    this.#order += 1;
    return this.#order;
  }

  /** Records a lookup of the row of a tenant or of the shared tenant. The caller calls the result at the answer. */
  recordLookup(worker: number, tenant: Tenant): (answered: number) => void {
    const order = this.#next();
    const name = `${worker} ${tenant}`;
    return (answered) => {
      this.#lookups.set(name, [{ answered, order }, ...(this.#lookups.get(name) ?? []).slice(0, 2)]);
    };
  }

  lastLookup(worker: number, { tenant }: Pick<ModelHalt, "tenant">): HaltLookup | undefined {
    return this.#lookups.get(`${worker} ${tenant}`)?.[0];
  }

  /**
   * True if the worker must know of the halt. One lookup reads two rows, the command that sets a halt reads one, and
   * the observer cannot tell which reads belong together. So the worker knows it only once it has read each row three
   * times since.
   */
  isKnownTo(worker: number, tenant: Tenant, { order }: ModelHalt): boolean {
    return [tenant, sharedTenant].every((each) => (this.#lookups.get(`${worker} ${each}`)?.[2]?.order ?? 0) > order);
  }

  all(): readonly ModelHalt[] {
    return [...this.#halts.values()];
  }

  /** Returns the halt that covers the run, or null. */
  findCovering(sim: SimContext, run: Run): ModelHalt | null {
    if (this.#halts.size === 0) return null;
    const all =
      this.#halts.get(haltName(sharedTenant, "everything")) ?? this.#halts.get(haltName(run.tenant, "tenant"));
    return all ?? this.#findForRun(sim, run);
  }

  /** A halt of a run also covers its child runs and its forks. */
  #findForRun(sim: SimContext, { tenant, id, parent, forked }: Run): ModelHalt | null {
    const own = this.#halts.get(haltName(tenant, id));
    if (own !== undefined) return own;
    for (const from of [parent, forked]) {
      const above = from === null ? undefined : sim.observer.get(from.run_id)?.run;
      const halt = above === undefined ? null : this.#findForRun(sim, above);
      if (halt !== null) return halt;
    }
    return null;
  }

  /** True if a halt with this scope was ever lifted. */
  wasLifted(tenant: Tenant, over: string): boolean {
    return this.#lifted.has(haltName(tenant, over));
  }

  find(tenant: Tenant, over: string): ModelHalt | undefined {
    return this.#halts.get(haltName(tenant, over));
  }
}

function haltName(tenant: Tenant, over: string): string {
  return `${tenant} ${over}`;
}

export function isHaltJournalName(journal: string): boolean {
  return journal.startsWith("hlt_");
}
