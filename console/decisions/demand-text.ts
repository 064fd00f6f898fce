import { type Demand, demandParts } from "../../src/core/approval/approval-demand.ts";

/** Returns the approvals that a gate demands as sentences. */
export function demandTexts(demand: Demand): readonly string[] {
  return demandParts(demand).map((part) => {
    const count = part.people ?? 1;
    const people = count === 1 ? "one person" : `${count} people`;
    const role = part.role === null ? "" : ` with the role ${part.role}`;
    const among = part.approvers === undefined ? "" : ` among ${part.approvers.join(", ")}`;
    const self = part.self || part.kind === "confirmation" ? "; the requester may approve" : "";
    return `${people}${role}${among}${self}`;
  });
}
