import type { Halt } from "../../core/store/tables.ts";
import type { PrincipalOptions } from "./request-options.ts";

/** The scope of the halt: a run and its child runs, or all tenants. Default: the whole tenant. */
export interface HaltOptions extends PrincipalOptions {
  readonly runId?: string;
  /** All tenants. Requires the role `operator`. */
  readonly everything?: true;
}

/**
 * Halts prevent new calls. While a halt is in force, no worker starts a call that it covers. Running calls end
 * normally, and acts can still be verified, resolved and undone. Steps wait, and continue when the halt is lifted.
 */
export interface Halts {
  /** Sets a halt. Agents cannot. An existing halt stays as it is. */
  set(options: HaltOptions & { readonly reason: string }): Promise<void>;
  /** Lifts a halt. Only a person can. */
  lift(options: HaltOptions & { readonly reason?: string }): Promise<void>;
  /** Lists the halts that affect the tenant. */
  list(options: PrincipalOptions): Promise<readonly Halt[]>;
}
