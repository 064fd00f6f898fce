import type { Mode } from "../core/effect.ts";
import type { Tenant } from "../core/id.ts";

/** What a tenant's administrator has set. Never the plan, never the model. */
export interface TenantSettings {
  readonly mode?: Mode;
  /** Tools that act without a person, though the run is human_gated. */
  readonly trust?: readonly string[];
}

export class Tenants {
  readonly #settings: Readonly<Record<string, TenantSettings>>;

  constructor(settings: Readonly<Record<string, TenantSettings>>) {
    this.#settings = settings;
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
    return new Tenants(Object.fromEntries(awake));
  }

  trusts(tenant: Tenant, tool: string): boolean {
    return this.#of(tenant).trust?.includes(tool) ?? false;
  }

  #of(tenant: Tenant): TenantSettings {
    return Object.hasOwn(this.#settings, tenant) ? (this.#settings[tenant] as TenantSettings) : {};
  }
}
