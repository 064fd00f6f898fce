/** What a verifier saw, with the output of the tool it is for. What it cannot tell is unknown, never absent. */
export type Seen<Output> =
  | { readonly saw: "happened"; readonly output: Output }
  | { readonly saw: "absent" }
  | { readonly saw: "unknown"; readonly why: string };

export function unknown(why: string): Seen<never> {
  return { saw: "unknown", why };
}

/** What was thrown, in words. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a system error, such as ENOENT. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
