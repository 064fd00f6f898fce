/** Someone else's engine, made ready to do runs of ten steps that answer with about 200 bytes each. */
export interface Contestant {
  /** Name and version of every package that takes part. */
  readonly versions: readonly string[];
  /** One run, to its end. Every step is stored before the next begins. */
  run(): Promise<void>;
  close(): Promise<void>;
}

/** Why someone does not take part. */
export interface Absent {
  readonly absent: string;
}

export interface Peer {
  readonly id: string;
  readonly about: string;
  /** What Writ promises of a step that is stored when it promises as much as they do. */
  readonly durability: "process" | "every";
  /** Finds its packages from a folder, and gets a file of its own to write to. */
  enter(folder: string, file: string): Promise<Contestant | Absent>;
}

export const stepsPerRun = 10;
