import type { RunId } from "../../core/values/ids.ts";
import { digestOfParts } from "../ports/digest.ts";

/** The halt journal of each tenant, and of all tenants together. */
export const haltJournal = "hlt_all" as RunId;

export function isHaltJournal(journal: RunId): boolean {
  return journal === haltJournal;
}

/** The policy journal of each tenant. */
export const policyJournal = "pol_tenant" as RunId;

export function isPolicyJournal(journal: RunId): boolean {
  return journal === policyJournal;
}

/** The retention journal of each tenant. */
export const retentionJournal = "ret_tenant" as RunId;

export function isRetentionJournal(journal: RunId): boolean {
  return journal === retentionJournal;
}

/** The backup journal of each tenant. */
export const backupJournal = "bak_tenant" as RunId;

export function isBackupJournal(journal: RunId): boolean {
  return journal === backupJournal;
}

/** The journal of a project that was ever locked or archived. */
export function projectLockJournal(project: string): RunId {
  return `prj_${project}` as RunId;
}

export function isProjectLockJournal(journal: RunId): boolean {
  return journal.startsWith("prj_");
}

/** The journal of a session that was ever opened by name. */
export function namedSessionJournal(project: string | null, session: string): RunId {
  const place = project === null ? [session] : [project, session];
  return `ses_${digestOfParts("writ/session/v1", ...place).slice(0, 32)}` as RunId;
}

export function isNamedSessionJournal(journal: RunId): boolean {
  return journal.startsWith("ses_");
}

/** Each schedule has its own journal, which workers claim like a run. */
export function scheduleJournal(schedule: string): RunId {
  return `sch_${digestOfParts("writ/schedule/v1", schedule).slice(0, 32)}` as RunId;
}

export function isScheduleJournal(journal: RunId): boolean {
  return journal.startsWith("sch_");
}
