/** What a worker is told. */
export interface Task {
  readonly by: string;
  readonly url: string;
  readonly leaseMs: number;
  /** The files that all share. */
  readonly world: string;
  readonly history: string;
}

/** What it says when it has begun to work. */
export const READY = "ready\n";
