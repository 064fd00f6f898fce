import type { Store } from "../../src/core/store/store.ts";
import { deferred } from "./scripted-tool.ts";

/** An answer of the store that is delayed. */
export interface PausedAnswer {
  /** Resolves when the store has answered, before the caller receives the answer. */
  readonly reached: Promise<unknown>;
  resume(): void;
}

type PausableMethod = "append" | "row" | "events" | "mark";

/** A store whose answers can be delayed one by one. */
export function pausableStore(real: Store): {
  readonly store: Store;
  pause<M extends PausableMethod>(at: M, is?: AnswerFilter<M>): PausedAnswer;
} {
  const waiting: {
    at: PausableMethod;
    is(...given: readonly unknown[]): boolean;
    reached(): void;
    goesOn: Promise<void>;
  }[] = [];
  const slow = (at: PausableMethod) => {
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
      const [reached, goesOn] = [deferred<void>(), deferred<void>()];
      waiting.push({
        at,
        is: is as (...given: readonly unknown[]) => boolean,
        reached: () => reached.keep(),
        goesOn: goesOn.promise,
      });
      return { reached: reached.promise, resume: () => goesOn.keep() };
    },
  };
}

type AnswerFilter<M extends PausableMethod> = (...given: Parameters<Store[M]>) => boolean;
