/** How long the processes of a SQLite file wait for each other, in milliseconds, and how often they look. */
export const sqliteWaitTimes = {
  /** The time between two looks of a worker at the others. */
  lookMs: 250,
  /** How long a live worker may write no beat before it loses its runs. */
  stallMs: 60_000,
  /** How long a write waits for the transactions of other processes before it fails. */
  busyMs: 5000,
  /** The longest pause before the second attempt to begin a transaction. */
  firstPauseMs: 2,
  /** The longest pause between two later attempts. */
  busyPauseMs: 16,
  /** The time after which a write tries more often. */
  hurryAfterMs: 250,
  /** The longest pause between two attempts of such a write. */
  hurryPauseMs: 4,
  /** The time between two looks for writes of other processes. */
  pollMs: 40,
  /** The same, while a caller of this process waits for a change. */
  waitingPollMs: 25,
  /** How long opening waits for a process that creates, migrates or recovers the file. A busy machine needs seconds. */
  openingMs: 10_000,
  /** How long opening waits for processes of another version to close the file. */
  otherVersionMs: 2000,
  /** The longest pause between two attempts to open the file. */
  openingPauseMs: 20,
} as const;
