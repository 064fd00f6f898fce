import type { Store } from "../../src/core/store.ts";
import { promised } from "./cast.ts";

/** An answer of the store that somebody waits for longer than it took. */
export interface Pause {
  /** The store has answered; nobody was told yet. */
  readonly reached: Promise<unknown>;
  goOn(): void;
}

type Method = "append" | "row" | "events" | "mark";

/** A store of which single answers can be kept back. */
export function pausing(real: Store): { readonly store: Store; pause<M extends Method>(at: M, is?: Is<M>): Pause } {
  const waiting: { at: Method; is(...given: readonly unknown[]): boolean; reached(): void; goesOn: Promise<void> }[] =
    [];
  const slow = (at: Method) => {
    const method = real[at] as (...given: readonly unknown[]) => Promise<unknown>;
    return async (...given: readonly unknown[]) => {
      const answer = await method(...given);
      const found = waiting.findIndex((one) => one.at === at && one.is(...given));
      const [pause] = found < 0 ? [] : waiting.splice(found, 1);
      pause?.reached();
      await pause?.goesOn;
      return answer;
    };
  };
  const store = { ...real, append: slow("append"), row: slow("row"), events: slow("events"), mark: slow("mark") };
  return {
    store: store as Store,
    pause: (at, is = () => true) => {
      const [reached, goesOn] = [promised<void>(), promised<void>()];
      waiting.push({
        at,
        is: is as (...given: readonly unknown[]) => boolean,
        reached: () => reached.keep(),
        goesOn: goesOn.promise,
      });
      return { reached: reached.promise, goOn: () => goesOn.keep() };
    },
  };
}

type Is<M extends Method> = (...given: Parameters<Store[M]>) => boolean;
