/** Another engine that executes runs of ten steps with answers of about 200 bytes. */
export interface PeerEngine {
  /** The name and version of each of its packages. */
  readonly versions: readonly string[];
  /** Executes one run. Every step is stored before the next one starts. */
  run(): Promise<void>;
  close(): Promise<void>;
}

/** The reason why a peer is skipped. */
export interface PeerAbsence {
  readonly absent: string;
}

export interface Peer {
  readonly id: string;
  readonly about: string;
  /** The durability of Writ that equals the promise of the peer. */
  readonly durability: "process" | "every";
  /** Opens the engine with packages from a folder, on a new file. */
  open(folder: string, file: string): Promise<PeerEngine | PeerAbsence>;
}

export const stepsPerRun = 10;
