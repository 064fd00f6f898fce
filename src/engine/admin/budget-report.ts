import { type CountedLimit, countedLimits, type Payer } from "../../core/call/counted-limits.ts";
import { type LimitSet, submissionLimits } from "../../core/limits/budget.ts";
import { alertLevelsReached } from "../../core/limits/budget-alert.ts";
import { forecastUse, limitExhaustedAt } from "../../core/time/time-window.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import type { BudgetView, Engine } from "../api/engine-api.ts";
import { loadRun } from "../journal/load-run.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Reports the use of each limit of a principal. Limits of a run or project are included if one is named. */
export async function reportBudgets(
  ports: WorkerPorts,
  tenant: Tenant,
  { principal, by, project, runId }: Parameters<Engine["budgets"]>[0],
): Promise<readonly BudgetView[]> {
  if (![by, project, runId].every((name) => name === undefined || isName(name)))
    throw new FaultError(fault("INVALID_INPUT", `by, project and runId are ${nameRule}`));
  const run = runId === undefined ? null : (await loadRun(ports.store, tenant, runId as RunId)).run;
  const who: Payer = {
    origin: run?.origin ?? ("" as RunId),
    project: project ?? run?.project ?? null,
    session: run?.session ?? null,
    opened: run?.opened ?? null,
    principal: { id: by ?? run?.principal.id ?? principal.id },
  };
  const place = { tenant, project: who.project, session: run?.session ?? null };
  const given = run === null || run.terms.budgets === null ? [] : [submissionLimits(run.terms.budgets)];
  const known = [...(await allowancesIn(ports, place)), ...given]
    .flatMap((allowance) => countedLimits(allowance, who, ports.clock.now()))
    .filter(({ limit: { per } }) =>
      per === "run" || per === "session"
        ? run !== null
        : !per.startsWith("project") || run !== null || project !== undefined,
    );
  return Promise.all(known.map((counted) => toBudgetView(ports, tenant, counted)));
}

/** Returns the limits from settings and from the policies of a place. */
async function allowancesIn(
  { tenants, policies }: WorkerPorts,
  place: Parameters<WorkerPorts["policies"]["of"]>[0],
): Promise<readonly LimitSet[]> {
  await policies.refreshIfStale(place.tenant);
  const allowance = tenants.allowance(place.tenant);
  return [...(allowance === null ? [] : [allowance]), ...(policies.of(place)?.limits ?? [])];
}

async function toBudgetView({ store, clock }: WorkerPorts, tenant: Tenant, counted: CountedLimit): Promise<BudgetView> {
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
    forecast: window === null ? null : forecastUse(used, window, clock.now()),
    exhausted_at: window === null ? null : limitExhaustedAt(used, most, window, clock.now()),
    alert: tally === null ? null : (alertLevelsReached(used, most).at(-1) ?? null),
  };
}
