import type { Budget, Rate } from "../../core/limits/budget.ts";
import type { Mode } from "../../core/values/effect.ts";

/** Settings of a tenant, made by its administrator. Plans and models cannot change them. */
export interface TenantSettings {
  /** The least strict mode that its runs may have. Default: human_gated. */
  readonly mode?: Mode;
  /**
   * The roles whose principals are trusted with `auto_exec`. Runs of all others are at least `human_gated`.
   * Default: every principal is.
   */
  readonly autoExecRoles?: readonly string[];
  /** The role that is needed to set policies, apply retention, lift halts and halt the tenant. Default: every person may. */
  readonly admin?: string;
  /** Tools that may act without approval in human_gated runs. */
  readonly trust?: readonly string[];
  /**
   * "adopt": if no live worker has the rules of a run, a worker with other rules continues it, on record.
   * "pinned": the run waits until a person lets it continue under other rules.
   * Default: adopt.
   */
  readonly rules?: "adopt" | "pinned";
  /** Budgets in addition to those of every tenant. */
  readonly budgets?: readonly Budget[];
  /** Call rates in addition to those of every tenant. */
  readonly rates?: readonly Rate[];
  /** The time zone of the days and months that budgets count, by IANA name. Default: the engine's, else UTC. */
  readonly zone?: string;
}
