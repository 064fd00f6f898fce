import { type Fault, type FaultCode, faults } from "../core/fault.ts";

/**
 * The fault that something thrown carries, or null. By its shape: a config may import another copy of this package, whose
 * FaultError is another class.
 */
export function faultIn(thrown: unknown): Fault | null {
  if (!(thrown instanceof Error) || !("fault" in thrown)) return null;
  const { fault } = thrown;
  if (typeof fault !== "object" || fault === null || !("code" in fault) || !("message" in fault)) return null;
  const known = typeof fault.code === "string" && Object.hasOwn(faults, fault.code);
  return known && typeof fault.message === "string" ? (fault as Fault) : null;
}

export function isFault(thrown: unknown, code: FaultCode): boolean {
  return faultIn(thrown)?.code === code;
}
