/** A change that an act made to a resource outside, as its handler reported it. */
export interface ExternalChange {
  /** The type of the resource, such as `github.issue`. */
  readonly type: string;
  readonly id: string;
  /** The kind of change, such as `created`, `updated` or `deleted`. */
  readonly operation: string;
  /** The version and the entity tag of the resource after the change. */
  readonly version?: string;
  readonly etag?: string;
  /** Where the resource can be found, such as a URL. */
  readonly ref?: string;
}

export const externalChangeFields = ["type", "id", "operation", "version", "etag", "ref"] as const;
