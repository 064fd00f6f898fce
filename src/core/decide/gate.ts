import type { Ask } from "../command.ts";
import { type Fault, fault } from "../fault.ts";
import type { Instant } from "../id.ts";
import type { Principal } from "../principal.ts";
import { NOTHING, type Ruling } from "../ruling.ts";
import { type Gate, type Run, requesterOf, stepOf } from "../run.ts";

export function approve(run: Run, command: Ask<"approve">): Ruling {
  const { gate_id, principal, reason, use_within_ms, now } = command;
  const refused = refusal(run, command);
  if (refused !== null) return refused;
  const use_by = (now + use_within_ms) as Instant;
  return { events: [{ type: "gate.approved", at: now, gate_id, by: principal, reason, use_by }] };
}

export function reject(run: Run, command: Ask<"reject">): Ruling {
  const { gate_id, principal, reason, in_flight: sparing, now } = command;
  const refused = refusal(run, command);
  return refused ?? { events: [{ type: "gate.rejected", at: now, gate_id, by: principal, reason, sparing }] };
}

export function expire(run: Run, { gate_id, in_flight: sparing, now }: Ask<"expire">): Ruling {
  const gate = run.gates.get(gate_id);
  if (gate === undefined || gate.status !== "open" || now < gate.expires_at) return NOTHING;
  return { events: [{ type: "gate.expired", at: now, gate_id, sparing }] };
}

/** Why this principal cannot decide this gate now. That someone tried who may not is worth a record. */
function refusal(run: Run, command: Ask<"approve" | "reject">): Ruling | null {
  const { gate_id, principal, in_flight: sparing, now } = command;
  const gate = run.gates.get(gate_id);
  if (gate === undefined) {
    return { events: [], refusal: fault("GATE_NOT_FOUND", `no gate ${gate_id}; list the open ones`) };
  }
  if (gate.status !== "open") {
    return {
      events: [],
      refusal: fault(
        "GATE_DECIDED",
        `gate ${gate_id} is ${gate.status}${gate.decided_by ? ` by ${gate.decided_by}` : ""}; nothing was changed`,
      ),
    };
  }
  if (now >= gate.expires_at) {
    const events = [{ type: "gate.expired", at: now, gate_id, sparing }] as const;
    return {
      events,
      refusal: fault("GATE_EXPIRED", `gate ${gate_id} expired before it was decided; resume the run to ask again`),
    };
  }
  const forbidden = mayNotDecide(run, gate, principal);
  if (forbidden === null) return null;
  return {
    events: [{ type: "gate.contested", at: now, gate_id, by: principal, fault: forbidden }],
    refusal: forbidden,
  };
}

function mayNotDecide(run: Run, gate: Gate, { id, kind, roles = [] }: Principal): Fault | null {
  if (kind !== "person")
    return fault("AUTH_FORBIDDEN", `${kind} ${id} cannot decide gate ${gate.gate_id}; only a person can`);
  if (id === requesterOf(run, stepOf(run, gate))) {
    return fault(
      "AUTH_FORBIDDEN",
      `${id} asked for this call and cannot decide gate ${gate.gate_id}; someone else must`,
    );
  }
  const { role } = gate.demand;
  if (role !== null && !roles.includes(role)) {
    return fault("AUTH_FORBIDDEN", `${id} lacks the role ${role} that gate ${gate.gate_id} asks for`);
  }
  return null;
}
