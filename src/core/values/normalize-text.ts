/**
 * How the text of a field is normalised before it is compared. Each form includes the one before it. `nfc`: characters
 * that Unicode calls equal are the same, such as é in one character or in two. `trim`: spaces at either end do not count.
 * `nfkc-casefold`: neither case nor compatibility form counts, such as full-width letters.
 */
export const textForms = ["nfc", "trim", "nfkc-casefold"] as const;

export type TextForm = (typeof textForms)[number];

/** Returns the text in the form. */
export function normalizeText(text: string, form: TextForm): string {
  switch (form) {
    case "nfc":
      return text.normalize("NFC");
    case "trim":
      return text.trim().normalize("NFC");
    case "nfkc-casefold":
      return foldText(text.trim()).trim();
  }
}

/** Returns the text without case and without compatibility form. */
export function foldText(text: string): string {
  // Upper case first: it also joins letters such as ß and ss, which lower case keeps apart.
  return text.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC");
}
