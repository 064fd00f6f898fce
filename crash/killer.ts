import { type FaultCode, FaultError } from "../src/core/fault.ts";
import type { Store } from "../src/core/store.ts";

/** Where to die: the nth time this point is passed. */
export interface Kill {
  readonly point: string;
  readonly nth: number;
  /** The process lives, and the store answers with this fault instead. */
  readonly fault?: Extract<FaultCode, "STORE_FAILED" | "STORE_UNKNOWN">;
}

/** Kills its own process, for real, at one point of the road; or only notes which points it passes. */
export class Killer {
  readonly #kill: Kill | null;
  readonly #counts = new Map<string, number>();
  readonly #passed: Kill[] = [];

  constructor(kill: Kill | null) {
    this.#kill = kill;
  }

  get passed(): readonly Kill[] {
    return this.#passed;
  }

  readonly at = (point: string): void => {
    const nth = (this.#counts.get(point) ?? 0) + 1;
    this.#counts.set(point, nth);
    this.#passed.push({ point, nth });
    if (this.#kill?.point !== point || this.#kill.nth !== nth) return;
    const { fault } = this.#kill;
    if (fault !== undefined) throw new FaultError({ code: fault, message: "the store is not itself" });
    process.kill(process.pid, "SIGKILL");
  };
}

/** A store at whose writes the process can die: before they are made, and when they have landed but nobody was told. */
export function deadly(store: Store, { at }: Killer): Store {
  const around =
    <Values extends readonly unknown[], Result>(name: string, work: (...values: Values) => Promise<Result>) =>
    async (...values: Values): Promise<Result> => {
      at(`${name}.asked`);
      const result = await work(...values);
      at(`${name}.landed`);
      return result;
    };
  return {
    ...store,
    append: around("append", store.append),
    mark: around("mark", store.mark),
    claim: around("claim", store.claim),
    claimDue: around("due", store.claimDue),
    putBlob: around("blob", store.putBlob),
    release: around("release", store.release),
    lockWorker: around("lock", store.lockWorker),
  };
}
