import type { RunId } from "../core/values/ids.ts";
import { auditRun, auditTenant } from "./admin/audit/audit-journals.ts";
import { listBackups } from "./admin/backup/list-backups.ts";
import { reportBudgets } from "./admin/budget-report.ts";
import { assertRunExists, reportCost, reportSpending } from "./admin/gate-and-cost-reports.ts";
import { listWorkers } from "./admin/list-workers.ts";
import { readActReport } from "./admin/read-act-report.ts";
import { readStoredOutcome } from "./admin/read-stored-outcome.ts";
import { listRetentions } from "./admin/retention/run-retention.ts";
import { reportSpentByDay } from "./admin/spent-by-day.ts";
import type { Engine } from "./api/engine-api.ts";
import { readPrincipal } from "./api/read-principal.ts";
import type { WorkerPorts } from "./worker/worker-ports.ts";

type Reports = Pick<
  Engine,
  "outcome" | "act" | "workers" | "cost" | "spent" | "spentByDay" | "budgets" | "audit" | "retentions" | "backups"
>;

/** Returns the reports about a tenant. They read and change nothing. */
export function tenantReports(ports: WorkerPorts): Reports {
  return {
    outcome: async (id, { principal }) => readStoredOutcome(ports, readPrincipal(principal).tenant, id),
    act: async (key, { principal }) => readActReport(ports, readPrincipal(principal).tenant, key),
    workers: async ({ principal }) => listWorkers(ports.store, readPrincipal(principal).tenant, ports.clock.now()),
    cost: async (runId, { principal }) => reportCost(ports, readPrincipal(principal).tenant, runId as RunId),
    spent: async ({ principal, period, by, project }) =>
      reportSpending(ports, readPrincipal(principal).tenant, period, { by, project }),
    spentByDay: async (options) => reportSpentByDay(ports, options),
    budgets: async (options) => reportBudgets(ports, readPrincipal(options.principal).tenant, options),
    audit: async ({ principal, runId }) => {
      const { tenant } = readPrincipal(principal);
      if (runId === undefined) return auditTenant(ports.store, tenant);
      await assertRunExists(ports, tenant, runId as RunId);
      return auditRun(ports.store, tenant, runId as RunId);
    },
    retentions: async ({ principal }) => listRetentions(ports, readPrincipal(principal).tenant),
    backups: async ({ principal }) => listBackups(ports, readPrincipal(principal).tenant),
  };
}
