/** A place or a file that a rollback leaves as it is, and why. */
export interface LeftPlace {
  readonly path: string;
  readonly why: string;
}

/** The number of left places that the record of a rollback names. */
export const LEFT_PLACES_MAX = 100;

/** The places of state, or the files of a resource, that a rollback has put back and left. */
export interface RevertReport {
  readonly restored: number;
  /** The number of those that are left. */
  readonly left: number;
  /** The first of those that are left. */
  readonly places: readonly LeftPlace[];
}
