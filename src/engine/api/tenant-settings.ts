import type { Budget, Rate } from "../../core/limits/budget.ts";
import type { Mode } from "../../core/values/effect.ts";

/** Settings of a tenant, made by its administrator. Plans and models cannot change them. */
export interface TenantSettings {
  /** The mode of its runs that needs people least. Default: human_gated. */
  readonly mode?: Mode;
  /**
   * The roles whose principals are trusted with `auto_exec`. Runs of all others are at least `human_gated`.
   * Default: every principal is.
   */
  readonly autoExecRoles?: readonly string[];
  /** The role that policies, retention, lifting and tenant-wide halts need. Default: every person may. */
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
