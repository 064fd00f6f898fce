/** The bytes that an output refers to, as base64, by their SHA-256. The output has a reference in their place. */
export interface OutputBlobs {
  readonly [sha256: string]: string;
}
