import { checkJson, valueLimits } from "../../core/json/check-json.ts";
import { signalKeyPattern } from "../../core/plan/plan.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import type { Json } from "../../core/values/json.ts";

/** Checks a signal and copies its payload. Throws INVALID_INPUT with all reasons. */
export function readSignal(key: string, payload: Json, id: string | undefined): Json {
  const wrong = [
    ...(isName(key) && signalKeyPattern.test(key) ? [] : ["its key"]),
    ...(id === undefined || isName(id) ? [] : ["its id"]),
  ];
  if (wrong.length > 0) {
    const rule = `must be ${nameRule}, and no key begins with run:`;
    const message = `the signal was not sent: ${wrong.join(" and ")} ${rule}`;
    throw new FaultError(fault("INVALID_INPUT", message));
  }
  const checked = checkJson(payload, valueLimits);
  if (!checked.ok) {
    const reasons = checked.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
    throw new FaultError(fault("INVALID_INPUT", `the signal was not sent: ${reasons.join("; ")}`, { reasons }));
  }
  return checked.value;
}
