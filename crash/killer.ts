import type { Store } from "../src/core/store/store.ts";
import { type FaultCode, FaultError } from "../src/core/values/fault.ts";

/** A kill at the nth time a point is passed. */
export interface KillPoint {
  readonly point: string;
  readonly nth: number;
  /** If set, the store throws this fault instead, and the process lives. */
  readonly fault?: Extract<FaultCode, "STORE_FAILED" | "STORE_UNKNOWN">;
}

/** Kills its own process at one point, or only records the points that it passes. */
export class Killer {
  readonly #kill: KillPoint | null;
  readonly #counts = new Map<string, number>();
  readonly #passed: KillPoint[] = [];

  constructor(kill: KillPoint | null) {
    this.#kill = kill;
  }

  get passed(): readonly KillPoint[] {
    return this.#passed;
  }

  readonly at = (point: string): void => {
    const nth = (this.#counts.get(point) ?? 0) + 1;
    this.#counts.set(point, nth);
    this.#passed.push({ point, nth });
    if (this.#kill?.point !== point || this.#kill.nth !== nth) return;
    const { fault } = this.#kill;
    if (fault !== undefined) throw new FaultError({ code: fault, message: "the store failed as the test demands" });
    process.kill(process.pid, "SIGKILL");
  };
}

/** Returns a store with kill points before each write and after it, before the caller is answered. */
export function withKillPoints(store: Store, { at }: Pick<Killer, "at">): Store {
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
    ask: around("ask", store.ask),
    registerWorker: around("register", store.registerWorker),
  };
}
