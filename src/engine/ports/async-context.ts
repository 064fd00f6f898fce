import { AsyncResource } from "node:async_hooks";

/** Runs work in a captured asynchronous context: its AsyncLocalStorage stores are those of the capture. */
export type AsyncContext = <Result>(work: () => Result) => Result;

/** Captures the asynchronous context of the caller. `AsyncLocalStorage.snapshot` takes ten times as long on Node 20. */
export function captureContext(): AsyncContext {
  const captured = new AsyncResource("writ.call");
  return (work) => captured.runInAsyncScope(work);
}

/** The context in which this module was loaded. No request of a caller is in it. */
export const emptyContext: AsyncContext = captureContext();
