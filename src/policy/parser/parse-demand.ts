import { type Demand, demandLimits, type Escalation } from "../../core/approval/approval-demand.ts";
import type { FieldReader } from "../../core/json/field-reader.ts";
import type { RuleFieldReader } from "../rules/rule-field-reader.ts";

/** The fields of a rule that describe the approval it requires. */
export const demandFields = ["role", "people", "approvers", "self", "within_ms", "escalate"];

/** Parses the approval that a rule requires. The default of each field requires the least. */
export function parseDemand(fields: FieldReader, reader: RuleFieldReader): Demand {
  const people = fields.wholeNumber("people", { min: 1, max: demandLimits.people });
  const within_ms = fields.wholeNumber("within_ms", { min: 1, max: demandLimits.ms });
  const escalate = parseEscalation(fields, reader);
  const demand = { ...parseApprovers(fields, reader), ...parseSelf(fields) };
  if (people !== null && new Set(demand.approvers).size < people && demand.approvers !== undefined)
    fields.addReason("people", "exceeds the number of approvers");
  if (escalate !== null && within_ms !== null && escalate.after_ms >= within_ms)
    fields.addReason("within_ms", "ends before the escalation");
  return {
    ...demand,
    ...(people !== null && people > 1 && { people }),
    ...(within_ms !== null && { within_ms }),
    ...(escalate !== null && { escalate }),
  };
}

function parseSelf(fields: FieldReader): Pick<Demand, "self"> {
  const self = fields.value("self") ?? false;
  if (typeof self !== "boolean") fields.addReason("self", "must be true or false");
  return self === true ? { self } : {};
}

function parseApprovers(fields: FieldReader, reader: RuleFieldReader): Pick<Demand, "role" | "approvers"> {
  const approvers = reader.personIds(fields, "approvers");
  return { role: reader.role(fields, "role"), ...(approvers !== null && { approvers }) };
}

function parseEscalation(fields: FieldReader, reader: RuleFieldReader): Escalation | null {
  const inner = reader.object(fields, "escalate");
  if (inner === null) return null;
  inner.refuseUnknown(["after_ms", "role", "approvers"]);
  const after_ms = inner.wholeNumber("after_ms", { min: 1, max: demandLimits.ms });
  if (after_ms === null)
    inner.addReason("after_ms", "is required: the time without a decision after which it escalates");
  const approvers = parseApprovers(inner, reader);
  if (approvers.role === null && approvers.approvers === undefined)
    inner.addReason("role", "or approvers is required: the people who may then decide");
  return { after_ms: after_ms ?? 1, ...approvers };
}
