/**
 * The form of a name: one line that UTF-8 can encode, without a character that cannot be seen, and without a space at
 * either end. Two names that look the same on a screen could otherwise be two principals.
 */
export const nameForm =
  /^(?!\s)[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]{1,200}(?<!\s)$/u;

/** The form of a name, in words. */
export const nameRule = "1 to 200 printable characters, without a space at either end";

/** True if the value can be a name: of a principal, tenant, role, project, session, schedule, policy or signal. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && nameForm.test(value);
}
