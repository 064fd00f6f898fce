/** Another engine that executes runs of ten steps with answers of about 200 bytes. */
export interface PeerEngine {
  /** The name and version of each of its packages. */
  readonly versions: readonly string[];
  /** Executes one run; several may be under way. Every step is stored before the next one starts. */
  run(): Promise<void>;
  close(): Promise<void>;
}

/** The reason why a peer is skipped. */
export interface PeerAbsence {
  readonly absent: string;
}

/** The place where a peer keeps its data: a new file and a database of a server that syncs every commit. */
export interface PeerPlace {
  readonly file: string;
  readonly databaseUrl: string;
}

export interface Peer {
  readonly name: string;
  readonly about: string;
  /** Writ is measured on the same kind of store. */
  readonly store: "sqlite" | "postgres";
  /** The durability of Writ that equals the promise of the peer. */
  readonly durability: "process" | "every";
  /** The oldest major version of Node that it runs on, if that is newer than the oldest one of Writ. */
  readonly node?: number;
  /** Opens the engine with packages from a folder. */
  open(folder: string, place: PeerPlace): Promise<PeerEngine | PeerAbsence>;
}

export const stepsPerRun = 10;
