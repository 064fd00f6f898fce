import { AsyncLocalStorage } from "node:async_hooks";

/** Runs work in a captured asynchronous context: its AsyncLocalStorage stores are those of the capture. */
export type AsyncContext = <Result>(work: () => Result) => Result;

/** Captures the asynchronous context of the caller. */
export function captureContext(): AsyncContext {
  return AsyncLocalStorage.snapshot();
}

/** The context in which this module was loaded. No request of a caller is in it. */
export const emptyContext: AsyncContext = captureContext();
