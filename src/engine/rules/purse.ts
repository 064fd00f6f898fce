import { FaultError, fault } from "../../core/fault.ts";
import type { RunId, Tenant } from "../../core/id.ts";
import { levelsReached } from "../../core/limits/alert.ts";
import type { Allowance } from "../../core/limits/budget.ts";
import { type Counted, limitsOn, type Payer } from "../../core/limits/toll.ts";
import { exhaustedAt, forecast } from "../../core/time/window.ts";
import type { BudgetView, Engine } from "../api.ts";
import type { Ports } from "../ports.ts";
import { isName } from "../principal.ts";
import { load } from "../record/load.ts";

/** How each limit that someone is under stands. Those of a run or of a project are told if one is named. */
export async function budgetsOf(
  ports: Ports,
  tenant: Tenant,
  { principal, by, project, runId }: Parameters<Engine["budgets"]>[0],
): Promise<readonly BudgetView[]> {
  if (![by, project, runId].every((name) => name === undefined || isName(name)))
    throw new FaultError(fault("INVALID_INPUT", "by, project and runId are 1 to 200 printable characters"));
  const run = runId === undefined ? null : (await load(ports.store, tenant, runId as RunId)).run;
  const who: Payer = {
    origin: run?.origin ?? ("" as RunId),
    project: project ?? run?.project ?? null,
    principal: { id: by ?? run?.principal.id ?? principal.id },
  };
  const place = { tenant, project: who.project, session: run?.session ?? null };
  const known = (await allowancesAt(ports, place))
    .flatMap((allowance) => limitsOn(allowance, who, ports.clock.now()))
    .filter(({ limit: { per } }) =>
      per === "run" ? run !== null : !per.startsWith("project") || run !== null || project !== undefined,
    );
  return Promise.all(known.map((counted) => viewOf(ports, tenant, counted)));
}

/** What is set, and what the policies of a place say. */
async function allowancesAt(
  { tenants, policies }: Ports,
  place: Parameters<Ports["policies"]["of"]>[0],
): Promise<readonly Allowance[]> {
  await policies.reading(place.tenant);
  const allowance = tenants.allowance(place.tenant);
  return [...(allowance === null ? [] : [allowance]), ...(policies.of(place)?.limits ?? [])];
}

async function viewOf({ store, clock }: Ports, tenant: Tenant, counted: Counted): Promise<BudgetView> {
  const { of, limit, rule, unit, most, tally, window } = counted;
  const used = tally === null ? 0 : await store.used(tenant, tally);
  return {
    of,
    unit,
    per: limit.per,
    tool: limit.tool ?? null,
    rule: rule?.id ?? null,
    limit: most,
    used,
    left: Math.max(0, most - used),
    tally,
    window,
    forecast: window === null ? null : forecast(used, window, clock.now()),
    exhausted_at: window === null ? null : exhaustedAt(used, most, window, clock.now()),
    alert: tally === null ? null : (levelsReached(used, most).at(-1) ?? null),
  };
}
