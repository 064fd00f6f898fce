import type { JsonObject } from "../core/json.ts";
import type { Capability } from "../core/principal.ts";

/** Who asks, as a caller writes it: plain strings, no brands. */
export interface PrincipalInput {
  readonly id: string;
  readonly kind: "agent" | "person" | "service";
  readonly tenant: string;
  readonly roles?: readonly string[];
  readonly claims?: JsonObject;
  /** What it may do: what all of these let it. */
  readonly capabilities?: readonly Capability[];
}

export interface As {
  readonly principal: PrincipalInput;
}

export interface Reasoned extends As {
  readonly reason?: string;
}
