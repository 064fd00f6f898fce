import { assert } from "../../core/assert.ts";
import type { Mode } from "../../core/effect.ts";
import type { Tenant } from "../../core/id.ts";
import type { Allowance, Budget, Rate } from "../../core/limits/budget.ts";
import { Zone } from "../../core/time/zone.ts";

/** What a tenant's administrator has set. Never the plan, never the model. */
export interface TenantSettings {
  readonly mode?: Mode;
  /** Tools that act without a person, though the run is human_gated. */
  readonly trust?: readonly string[];
  /** Limits beside those that every tenant is under. None of those is lifted by them. */
  readonly budgets?: readonly Budget[];
  readonly rates?: readonly Rate[];
  /** Whose days and months budgets count, by IANA name. Default: the engine's, else UTC. */
  readonly zone?: string;
}

/** Limits that every tenant is under, each by itself. */
export type CommonLimits = Pick<TenantSettings, "budgets" | "rates" | "zone">;

export class Tenants {
  readonly #settings: Readonly<Record<string, TenantSettings>>;
  readonly #common: CommonLimits;
  readonly #allowance: Allowance | null;
  readonly #allowances: ReadonlyMap<string, Allowance | null>;

  constructor(settings: Readonly<Record<string, TenantSettings>>, common: CommonLimits = {}) {
    this.#settings = settings;
    this.#common = common;
    this.#allowance = allowanceOf(common, {});
    this.#allowances = new Map(Object.entries(settings).map(([tenant, own]) => [tenant, allowanceOf(common, own)]));
  }

  /** Null: nothing is limited. */
  allowance(tenant: Tenant): Allowance | null {
    return this.#allowances.get(tenant) ?? this.#allowance;
  }

  mode(tenant: Tenant): Mode {
    return this.#of(tenant).mode ?? "human_gated";
  }

  /** As they are seen by a rehearsal, which is the dry run that a tenant may be confined to. */
  rehearsing(): Tenants {
    const awake = Object.entries(this.#settings).map(([tenant, settings]) => {
      const { mode, ...rest } = settings;
      return [tenant, mode === "dry_run" ? rest : settings] as const;
    });
    return new Tenants(Object.fromEntries(awake), this.#common);
  }

  trusts(tenant: Tenant, tool: string): boolean {
    return this.#of(tenant).trust?.includes(tool) ?? false;
  }

  #of(tenant: Tenant): TenantSettings {
    return Object.hasOwn(this.#settings, tenant) ? (this.#settings[tenant] as TenantSettings) : {};
  }
}

function allowanceOf(common: CommonLimits, own: CommonLimits): Allowance | null {
  const budgets = [...(common.budgets ?? []), ...(own.budgets ?? [])];
  const rates = [...(common.rates ?? []), ...(own.rates ?? [])];
  const zone = Zone.of(own.zone ?? common.zone ?? "UTC");
  assert(zone !== null, "settings name a zone that there is");
  return budgets.length + rates.length === 0 ? null : { budgets, rates, zone, rule: null };
}
