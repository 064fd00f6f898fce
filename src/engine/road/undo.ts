import type { UndoneAct } from "../../core/event.ts";
import { FaultError } from "../../core/fault.ts";
import type { RunId } from "../../core/id.ts";
import { actsOf, undoneActs } from "../../core/undone.ts";
import type { Engine, RunHandle } from "../api.ts";
import type { Reasoned } from "../asking.ts";
import type { Ports } from "../ports.ts";
import { principalOf } from "../principal.ts";
import { reasonOf } from "../reason.ts";
import { load } from "../record/load.ts";
import type { Holds } from "../watch/holds.ts";

interface Hands extends Pick<Engine, "resolve"> {
  run(): Promise<RunHandle>;
}

/** Undoes the acts of a run one after the other, the latest first, as far as they can be, and puts on record what became of each. */
export async function undoRun(
  ports: Ports,
  holds: Holds,
  id: RunId,
  options: Reasoned,
  hands: Hands,
): Promise<readonly UndoneAct[]> {
  const principal = principalOf(options.principal);
  const { tenant } = principal;
  const reason = reasonOf(options);
  const handle = await hands.run();
  const { run } = await load(ports.store, tenant, id);
  const refused = new Map<string, string>();
  for (const { spec, standing } of actsOf(run)) {
    if (standing.state === "compensated" || standing.state === "compensating") continue;
    const why = await refusal(hands.resolve(id, spec.step_id, { ...options, as: "undo" }));
    if (why === null) await handle.result();
    else refused.set(spec.step_id, why);
  }
  const now = await load(ports.store, tenant, id);
  const reversible = (tool: string) => ports.toolbox.facts(tool)?.compensates === true;
  const acts = undoneActs(now.run, reversible).map((act) => ({ ...act, why: refused.get(act.step_id) ?? act.why }));
  await holds.command(tenant, id, () => ({ type: "tell_undone", now: ports.clock.now(), principal, reason, acts }));
  return acts;
}

async function refusal(asked: Promise<void>): Promise<string | null> {
  try {
    await asked;
    return null;
  } catch (error) {
    if (error instanceof FaultError && ["NOT_POSSIBLE", "AUTH_FORBIDDEN"].includes(error.fault.code))
      return error.fault.message;
    throw error;
  }
}
