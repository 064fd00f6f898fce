import { type Demand, demandLimits, type Escalation } from "../core/demand.ts";
import type { Fields } from "../core/json/fields.ts";
import type { Reader } from "./reader.ts";

/** What a rule says of those whose yes it asks for. */
export const demandFields = ["role", "people", "approvers", "self", "within_ms", "escalate"];

/** Reads whose yes a rule asks for. What is left out asks for the least. */
export function readDemand(fields: Fields, reader: Reader): Demand {
  const people = fields.whole("people", { min: 1, max: demandLimits.people });
  const within_ms = fields.whole("within_ms", { min: 1, max: demandLimits.ms });
  const escalate = readEscalation(fields, reader);
  const demand = { ...readCircle(fields, reader), ...readSelf(fields) };
  if (people !== null && new Set(demand.approvers).size < people && demand.approvers !== undefined)
    fields.fault("people", "are more than there are approvers");
  if (escalate !== null && within_ms !== null && escalate.after_ms >= within_ms)
    fields.fault("within_ms", "is over before others may decide");
  return {
    ...demand,
    ...(people !== null && people > 1 && { people }),
    ...(within_ms !== null && { within_ms }),
    ...(escalate !== null && { escalate }),
  };
}

function readSelf(fields: Fields): Pick<Demand, "self"> {
  const self = fields.value("self") ?? false;
  if (typeof self !== "boolean") fields.fault("self", "must be true or false");
  return self === true ? { self } : {};
}

function readCircle(fields: Fields, reader: Reader): Pick<Demand, "role" | "approvers"> {
  const approvers = reader.names(fields, "approvers");
  return { role: reader.role(fields, "role"), ...(approvers !== null && { approvers }) };
}

function readEscalation(fields: Fields, reader: Reader): Escalation | null {
  const inner = reader.inner(fields, "escalate");
  if (inner === null) return null;
  inner.onlyKnown(["after_ms", "role", "approvers"]);
  const after_ms = inner.whole("after_ms", { min: 1, max: demandLimits.ms });
  if (after_ms === null) inner.fault("after_ms", "is how long nobody has to have decided");
  const circle = readCircle(inner, reader);
  if (circle.role === null && circle.approvers === undefined)
    inner.fault("role", "is who else may decide then; or say approvers, by id");
  return { after_ms: after_ms ?? 1, ...circle };
}
