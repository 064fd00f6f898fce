import { resolve } from "node:path";
import { Command } from "commander";
import type { BackupRecord } from "../../core/settings/backup.ts";
import { type Store, sharedTenant } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, Tenant } from "../../core/values/ids.ts";
import { auditFindings } from "../../engine/admin/audit/audit-findings.ts";
import type { AdoptReport } from "../../engine/api/backup-api.ts";
import type { Engine, PrincipalInput } from "../../engine/api/engine-api.ts";
import { createEngine } from "../../engine/engine.ts";
import { storeFromBackup } from "../../store/sqlite/store-from-backup.ts";
import { type GlobalOptions, helpExample, type Invocation, invalidInput } from "../invocation.ts";
import { line, type SafeLine } from "../safe-line.ts";
import { isPostgres } from "../store-address.ts";
import type { TextStyle } from "../text-style.ts";
import { timeText } from "../time-text.ts";
import { storeAddressFor, withEngine } from "../with-engine.ts";

interface RestoreOptions {
  readonly reason: string;
  readonly inPlace?: true;
}

/** A restore of all tenants, as it is printed. */
interface RestoreReport {
  readonly store: string;
  readonly backup_at: Instant | null;
  readonly tenants: readonly (AdoptReport & { readonly tenant: string })[];
}

export function restoreCommand(invocation: Invocation): Command {
  const command = new Command("restore")
    .description("make a store from a backup; its runs are parked, because what they did after it is unknown")
    .argument("[backup]", "path of the backup, which is not changed")
    .requiredOption("--reason <text>", "the reason, for the record and for the people who release the runs")
    .option("--in-place", "the store itself is the backup: park the runs of the tenant in it")
    .addHelpText(
      "after",
      helpExample(
        `writ restore backups/monday.db --store writ.db --reason "disk lost"`,
        `writ restore --in-place --store postgres://app@db/writ --reason "restored with pg_restore"`,
      ),
    );
  return invocation.withAction<RestoreOptions>(command, async ([backup], { reason, inPlace, ...options }) => {
    if ((backup === undefined) !== (inPlace ?? false)) throw invalidInput("give either a backup or --in-place");
    const report =
      backup === undefined
        ? await adoptInPlace(invocation, options, reason)
        : await restoreFile(invocation, options, backup, reason);
    invocation.terminal.printResult(report, () => reportLines(report, invocation.terminal.style));
    return 0;
  });
}

async function adoptInPlace(invocation: Invocation, options: GlobalOptions, reason: string): Promise<RestoreReport> {
  let report: RestoreReport | null = null;
  await withEngine(
    invocation,
    options,
    { work: "no", needs: "store", isLocal: true },
    async ({ engine, person, isExecuted }) => {
      if (isExecuted() === true)
        throw new FaultError(fault("STORE_BUSY", "a worker executes the store; stop it before you restore"));
      const adopted = await engine.adoptBackup({ principal: person, reason });
      const tenants = [{ tenant: person.tenant, ...adopted }];
      report = { store: options.store ?? "the store of the config", backup_at: adopted.backup_at, tenants };
      return 0;
    },
  );
  return report as unknown as RestoreReport;
}

/** The store gets its name when it is whole and all its runs are parked. A crash before that leaves no store. */
async function restoreFile(
  { host }: Invocation,
  options: GlobalOptions,
  backup: string,
  reason: string,
): Promise<RestoreReport> {
  const address = await storeAddressFor(options, host.cwd);
  if (address === null || isPostgres(address))
    throw invalidInput("a backup is restored to a SQLite file; give its path with --store");
  const copy = storeFromBackup(resolve(host.cwd, backup), address);
  try {
    const store = await copy.write();
    const engine = await createEngine({ store, tools: [], work: false });
    const person = { id: options.as ?? host.user, kind: "person" } as const;
    const report = await adoptTenants(engine, store, person, reason);
    await engine.close();
    await copy.publish();
    return { store: address, ...report };
  } catch (error) {
    await copy.discard();
    throw error;
  }
}

async function adoptTenants(
  engine: Engine,
  store: Store,
  person: Omit<PrincipalInput, "tenant">,
  reason: string,
): Promise<Omit<RestoreReport, "store">> {
  const names = ((await store.copies?.tenants()) ?? []).filter((tenant) => tenant !== sharedTenant);
  const principals = names.map((tenant) => ({ ...person, tenant }) as PrincipalInput & { readonly tenant: Tenant });
  const backup_at = await findBackupTime(engine, principals);
  const tenants: RestoreReport["tenants"][number][] = [];
  for (const principal of principals) {
    await assertUnchanged(engine, principal);
    const known = backup_at === null ? {} : { backupAt: backup_at };
    tenants.push({ tenant: principal.tenant, ...(await engine.adoptBackup({ principal, reason, ...known })) });
  }
  return { backup_at, tenants };
}

/** Returns when the backup was made: one tenant recorded its start as the last backup, and not its end. */
async function findBackupTime(engine: Engine, principals: readonly PrincipalInput[]): Promise<Instant | null> {
  const latest: BackupRecord[] = [];
  for (const principal of principals) latest.push(...(await engine.backups({ principal })).slice(0, 1));
  const begun = latest.filter((record) => record.kind === "backup" && record.contents === null);
  return begun.reduce<Instant | null>((most, { at }) => (most === null || at > most ? at : most), null);
}

async function assertUnchanged(engine: Engine, principal: PrincipalInput): Promise<void> {
  const [first] = auditFindings(await engine.audit({ principal }));
  if (first === undefined) return;
  const message = `the record of the backup was changed (${first}); use another backup`;
  throw new FaultError(fault("CHAIN_BROKEN", message));
}

function reportLines({ store, backup_at, tenants }: RestoreReport, style: TextStyle): readonly SafeLine[] {
  return [
    line`restored ${store} from a backup of ${backup_at === null ? "an unknown time" : timeText(backup_at, style)}`,
    ...tenants.map(
      ({ tenant, parked, ended, schedules }) =>
        line`  tenant ${tenant}: ${parked} runs parked, ${ended} ended runs marked, ${schedules} schedules paused`,
    ),
    line`what happened after the backup is not on record: check each parked run (writ runs --status restored),`,
    line`then release it with writ resume; a person approves each of its acts`,
  ];
}
