import type { Principal } from "../../core/approval/principal.ts";
import type { LimitSet } from "../../core/limits/budget.ts";
import { TimeZone } from "../../core/time/time-zone.ts";
import { assert } from "../../core/values/assert.ts";
import { type Mode, stricterMode } from "../../core/values/effect.ts";
import type { Tenant } from "../../core/values/ids.ts";
import type { TenantSettings } from "../api/tenant-settings.ts";

/** Limits that apply to every tenant separately. */
export type CommonLimits = Pick<TenantSettings, "budgets" | "rates" | "zone">;

/** The mode, trusted tools and limits of each tenant. */
export class SettingsByTenant {
  readonly #settings: Readonly<Record<string, TenantSettings>>;
  readonly #common: CommonLimits;
  readonly #allowance: LimitSet | null;
  readonly #allowances: ReadonlyMap<string, LimitSet | null>;

  constructor(settings: Readonly<Record<string, TenantSettings>>, common: CommonLimits = {}) {
    this.#settings = settings;
    this.#common = common;
    this.#allowance = allowanceOf(common, {});
    this.#allowances = new Map(Object.entries(settings).map(([tenant, own]) => [tenant, allowanceOf(common, own)]));
  }

  /** Returns the limits of a tenant. Null: there are none. */
  allowance(tenant: Tenant): LimitSet | null {
    return this.#allowances.get(tenant) ?? this.#allowance;
  }

  /** Returns the least strict mode that the runs of a principal may have. */
  mode({ tenant, roles = [] }: Pick<Principal, "tenant" | "roles">): Mode {
    const { mode = "human_gated", autoExecRoles } = this.#of(tenant);
    const isTrusted = autoExecRoles === undefined || roles.some((role) => autoExecRoles.includes(role));
    return isTrusted ? mode : stricterMode(mode, "human_gated");
  }

  /** Returns the role of the tenant's administrators. Null: the tenant names none. */
  adminRole(tenant: Tenant): string | null {
    return this.#of(tenant).admin ?? null;
  }

  /** Returns whether only a person may let a worker with other rules continue a run of the tenant. */
  pinsRules(tenant: Tenant): boolean {
    return this.#of(tenant).rules === "pinned";
  }

  /** Returns the rules for a simulation, which is allowed in mode dry_run. */
  forSimulation(): SettingsByTenant {
    const simulated = Object.entries(this.#settings).map(([tenant, settings]) => {
      const { mode, ...rest } = settings;
      return [tenant, mode === "dry_run" ? rest : settings] as const;
    });
    return new SettingsByTenant(Object.fromEntries(simulated), this.#common);
  }

  trusts(tenant: Tenant, tool: string): boolean {
    return this.#of(tenant).trust?.includes(tool) ?? false;
  }

  #of(tenant: Tenant): TenantSettings {
    return Object.hasOwn(this.#settings, tenant) ? (this.#settings[tenant] as TenantSettings) : {};
  }
}

function allowanceOf(common: CommonLimits, own: CommonLimits): LimitSet | null {
  const budgets = [...(common.budgets ?? []), ...(own.budgets ?? [])];
  const rates = [...(common.rates ?? []), ...(own.rates ?? [])];
  const zone = TimeZone.of(own.zone ?? common.zone ?? "UTC");
  assert(zone !== null, "the time zone was checked with the options");
  return budgets.length + rates.length === 0 ? null : { budgets, rates, zone, rule: null };
}
