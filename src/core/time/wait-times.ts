/** How long the engine waits before it tries or looks again, and how long it relies on what it has read. */
export const waitTimes = {
  /** The pause before an append is sent again, after its answer was lost. */
  appendResendMs: 100,
  /** The pause before the outcome of a call is appended again, after the store failed. */
  outcomeRetryMs: 1000,
  /** The pause after the first failed delivery of a notice; it doubles with each further failure. */
  noticeRetryMinMs: 1000,
  /** The longest pause between two deliveries of a notice. */
  noticeRetryMaxMs: 60_000,
  /** The shortest pause after which a waiting step checks the key or the halt again; it grows with the time waited. */
  stepPollMinMs: 1000,
  /** The longest pause between two checks of a key that another call uses. */
  keyPollMaxMs: 60_000,
  /** The longest pause between two checks of a halt whose lifting wakes the run: it only matters after a crash. */
  haltPollMaxMs: 3_600_000,
  /** The longest pause between two checks of a halt of all tenants, whose lifting wakes no run. */
  sharedHaltPollMaxMs: 300_000,
  /** The shortest pause before an act in doubt is sent again with the same key; it grows with the time passed. */
  actResendMinMs: 1000,
  /** The longest pause before an act in doubt is sent again. */
  actResendMaxMs: 60_000,
  /** The longest pause between two looks at an act in doubt whose worker may still run it. */
  senderPollMaxMs: 300_000,
  /** The average time between two searches for due runs; a notification starts a search at once. */
  sweepMs: 1300,
  /** The shortest time between two looks of `engine.changes` for changed runs. */
  changesMs: 100,
  /** The time in which further writes join the one that `engine.changes` looks for. */
  changesTogetherMs: 10,
  /** The age up to which a call without an append of its own relies on the halts that were last read. */
  haltCacheMs: 1000,
  /** The age up to which a recorded call relies on the halts that were last read. */
  recordedCallHaltCacheMs: 500,
  /** The age up to which a call relies on the policies that were last read. */
  policyCacheMs: 1000,
  /** The pause between two attempts to get a resource that another call uses. */
  resourcePollMs: 100,
  /** The time that a retention tries to empty the log before it reports that the log is still read. */
  logTruncationMs: 250,
  /** The pause between two of these attempts. */
  logTruncationPauseMs: 10,
  /** The pause between two attempts in the background. */
  logTruncationRetryMs: 1000,
  /** The time after which a worker continues a retention whose process may have ended. */
  retentionContinueMs: 60_000,
  /** The time that a retention or a backup waits for another one to end before it is refused. */
  maintenanceMs: 5000,
  /** The pause between two attempts to begin it. */
  maintenancePauseMs: 100,
} as const;
