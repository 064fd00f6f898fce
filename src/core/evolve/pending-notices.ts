import type { Notice } from "../event/event.ts";
import type { MutableRun } from "../run/run.ts";

/** Adds notices to the undelivered notices of the run. */
export function addNotices(run: MutableRun, notices: readonly Notice[] = []): MutableRun {
  for (const notice of notices) {
    run.notices = run.notices.set(notice.notice_id, notice);
    if (notice.kin !== undefined) run.pendingRunNotices += 1;
  }
  return run;
}

/** Removes a delivered notice. */
export function removeNotice(run: MutableRun, notice_id: string): MutableRun {
  if (run.notices.get(notice_id)?.kin !== undefined) run.pendingRunNotices -= 1;
  run.notices = run.notices.delete(notice_id);
  return run;
}
