import type { Json } from "../../core/values/json.ts";
import type { OutcomeView } from "./list-api.ts";
import type { EventIds } from "./run-handle-api.ts";

/** An outcome with the output that it names. */
export interface OutcomeWithOutput extends OutcomeView {
  /** The recorded output of the step. Null if a retention has erased it. */
  readonly output: Json;
  readonly erased: boolean;
  /** The ids of the run and of the attempt that made it. Null if a retention has erased them. */
  readonly ids: EventIds | null;
}
