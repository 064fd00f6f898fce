import type { Tenant } from "../src/core/id.ts";
import type { Run } from "../src/core/run.ts";
import { type Entry, house } from "../src/core/store.ts";
import { bodyText } from "./body.ts";
import type { Scene } from "./scene.ts";

/** What somebody has stopped: everything, a tenant, or a run. */
export interface Stop {
  readonly tenant: Tenant;
  readonly over: string;
  readonly since: number;
  /** Among all that was written and looked at, so that what happens in one moment has an order, too. */
  readonly order: number;
}

/** A worker has looked what is halted: when it was answered, and what came before it. */
interface Look {
  readonly answered: number;
  readonly order: number;
}

/** What stands still, told from the journals of halts as they are written. */
export class Standstill {
  readonly #stops = new Map<string, Stop>();
  readonly #lifted = new Set<string>();
  /** The latest first. */
  readonly #looks = new Map<string, readonly Look[]>();
  #order = 0;

  /** Something was written into a journal of halts. */
  landed(scene: Scene, { tenant, events }: Entry): void {
    for (const { type, body } of events) {
      const { over } = JSON.parse(bodyText(scene.tables, tenant, body)) as { readonly over: readonly string[] };
      for (const each of over) {
        const name = nameOf(tenant, each);
        if (type === "halt.set" && this.#stops.has(name)) scene.violate(`I22: ${each} was halted twice`);
        if (type === "halt.lifted" && !this.#stops.has(name)) scene.violate(`I22: ${each} was not halted, and lifted`);
        if (type === "halt.set")
          this.#stops.set(name, { tenant, over: each, since: scene.agenda.now(), order: this.#next() });
        else this.#stops.delete(name);
        if (type === "halt.lifted") this.#lifted.add(name);
      }
      scene.counts[type === "halt.set" ? "halts" : "lifts"] += 1;
    }
  }

  #next(): number {
    this.#order += 1;
    return this.#order;
  }

  /** A worker looks at the row of a tenant, or of the house. Call it when it is answered. */
  look(worker: number, tenant: Tenant): (answered: number) => void {
    const order = this.#next();
    const name = `${worker} ${tenant}`;
    return (answered) => {
      const [last] = this.#looks.get(name) ?? [];
      this.#looks.set(name, [{ answered, order }, ...(last === undefined ? [] : [last])]);
    };
  }

  lookOf(worker: number, { tenant }: Pick<Stop, "tenant">): Look | undefined {
    return this.#looks.get(`${worker} ${tenant}`)?.[0];
  }

  /** Both rows are one look, and which belong together nobody can tell from outside: whoever has seen each twice since knows. */
  isKnownTo(worker: number, tenant: Tenant, { order }: Stop): boolean {
    return [tenant, house].every((each) => (this.#looks.get(`${worker} ${each}`)?.[1]?.order ?? 0) > order);
  }

  all(): readonly Stop[] {
    return [...this.#stops.values()];
  }

  /** What keeps a run from beginning anything; null: nothing does. */
  over(scene: Scene, run: Run): Stop | null {
    if (this.#stops.size === 0) return null;
    const all = this.#stops.get(nameOf(house, "everything")) ?? this.#stops.get(nameOf(run.tenant, "tenant"));
    return all ?? this.#overLine(scene, run);
  }

  /** Whoever is halted does not go on as a run that it asked for, nor as one that was forked from it. */
  #overLine(scene: Scene, { tenant, id, parent, forked }: Run): Stop | null {
    const own = this.#stops.get(nameOf(tenant, id));
    if (own !== undefined) return own;
    for (const from of [parent, forked]) {
      const above = from === null ? undefined : scene.record.get(from.run_id)?.run;
      const stop = above === undefined ? null : this.#overLine(scene, above);
      if (stop !== null) return stop;
    }
    return null;
  }

  /** Somebody has let it go on at some time. */
  wasLifted(tenant: Tenant, over: string): boolean {
    return this.#lifted.has(nameOf(tenant, over));
  }

  stands(tenant: Tenant, over: string): Stop | undefined {
    return this.#stops.get(nameOf(tenant, over));
  }
}

function nameOf(tenant: Tenant, over: string): string {
  return `${tenant} ${over}`;
}

export function isHalts(journal: string): boolean {
  return journal.startsWith("hlt_");
}
