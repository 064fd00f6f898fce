/** The result of a verifier, with the output of its tool. If it cannot tell, it is `unknown`, never `absent`. */
export type VerifierResult<Output> =
  | { readonly saw: "happened"; readonly output: Output }
  | { readonly saw: "absent" }
  | { readonly saw: "unknown"; readonly why: string };

export function unknownResult(why: string): VerifierResult<never> {
  return { saw: "unknown", why };
}

/** Returns the message of a thrown value. */
export function thrownMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the code of a system error, such as ENOENT. */
export function systemErrorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
