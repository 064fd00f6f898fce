import { FaultError, fault } from "../../core/values/fault.ts";
import type { EngineOptions } from "../api/engine-api.ts";
import type { PrincipalInput } from "../api/principal-input.ts";
import { readPrincipal } from "../api/read-principal.ts";

/**
 * The principals that `authenticate` has returned. With this option, an engine accepts no other: a principal that a
 * program writes down itself is refused, whatever it says.
 */
export class AuthenticatedPrincipals {
  readonly #authenticate: EngineOptions["authenticate"];
  readonly #known = new WeakSet<object>();

  constructor(authenticate: EngineOptions["authenticate"]) {
    this.#authenticate = authenticate;
  }

  /** Returns the principal of a credential. Throws AUTH_REQUIRED if the credential is not valid. */
  async authenticate(credential: string): Promise<PrincipalInput> {
    if (this.#authenticate === undefined)
      throw new FaultError(fault("NOT_POSSIBLE", "this engine has no authenticate; pass it to createEngine"));
    const found = await this.#ask(credential);
    if (found === null) throw new FaultError(fault("AUTH_REQUIRED", "the credential is not valid"));
    const principal = freezeDeep(readPrincipal(found));
    this.#known.add(principal);
    return principal;
  }

  /** Throws AUTH_REQUIRED unless the principal comes from `authenticate`, if the engine has it. */
  assertKnown(principal: unknown): void {
    if (this.#authenticate === undefined || (typeof principal === "object" && this.#known.has(principal as object)))
      return;
    const message = "this engine authenticates; pass the principal that engine.authenticate({ credential }) returned";
    throw new FaultError(fault("AUTH_REQUIRED", message));
  }

  async #ask(credential: string): Promise<PrincipalInput | null> {
    try {
      return (await this.#authenticate?.(credential)) ?? null;
    } catch (cause) {
      throw new FaultError(fault("AUTH_REQUIRED", "the credential could not be checked"), { cause });
    }
  }
}

function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) freezeDeep(part);
  return Object.freeze(value);
}
