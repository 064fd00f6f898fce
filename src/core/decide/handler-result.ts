import type { OutputBlobs } from "../event/output-blobs.ts";
import type { Fault } from "../values/fault.ts";
import type { Json } from "../values/json.ts";

/** How a handler ended. */
export type HandlerResult =
  /** `flaw` is the fault if the output does not match the output schema. */
  | { readonly how: "value"; readonly output: Json; readonly flaw: Fault | null; readonly contents?: OutputBlobs }
  /** The tool reports that nothing happened. */
  | { readonly how: "not_done"; readonly fault: Fault }
  | { readonly how: "error"; readonly fault: Fault }
  /** A timeout or an abort: the call may still happen. */
  | { readonly how: "unheard"; readonly fault: Fault };
