import type { Tenant } from "./id.ts";
import type { JsonObject } from "./json.ts";

/** Who asks. Only a person decides a gate; an agent never does. */
export interface Principal {
  readonly id: string;
  readonly kind: "agent" | "person" | "service";
  readonly tenant: Tenant;
  readonly roles?: readonly string[];
  readonly claims?: JsonObject;
}
