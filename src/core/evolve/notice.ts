import type { Notice } from "../event.ts";
import type { MutableRun } from "../run.ts";

/** Messages that are to be delivered from now on. */
export function noted(run: MutableRun, notices: readonly Notice[] = []): void {
  for (const notice of notices) {
    run.notices = run.notices.set(notice.notice_id, notice);
    if (notice.kin !== undefined) run.kin += 1;
  }
}

/** One that was. */
export function taken(run: MutableRun, notice_id: string): MutableRun {
  if (run.notices.get(notice_id)?.kin !== undefined) run.kin -= 1;
  run.notices = run.notices.delete(notice_id);
  return run;
}
