import { type Fault, type FaultCode, faults } from "../core/values/fault.ts";

/**
 * Returns the fault of a thrown value, or null. It checks the shape and not the class: a config may import another copy
 * of this package, with another FaultError class.
 */
export function faultFromError(thrown: unknown): Fault | null {
  if (!(thrown instanceof Error) || !("fault" in thrown)) return null;
  const { fault } = thrown;
  if (typeof fault !== "object" || fault === null || !("code" in fault) || !("message" in fault)) return null;
  const known = typeof fault.code === "string" && Object.hasOwn(faults, fault.code);
  return known && typeof fault.message === "string" ? (fault as Fault) : null;
}

export function hasFaultCode(thrown: unknown, code: FaultCode): boolean {
  return faultFromError(thrown)?.code === code;
}
