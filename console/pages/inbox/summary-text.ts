const summaryMax = 160;

/** Returns an input on one line. Texts say by themselves what they are; other values have the name of their field. */
export function summaryText(input: unknown): string {
  if (typeof input !== "object" || input === null) return shortText(valueText(input));
  const parts = Object.entries(input).map(([name, value]) =>
    typeof value === "string" || Array.isArray(input) ? valueText(value) : `${name} ${valueText(value)}`,
  );
  return shortText(parts.join(" · "));
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function shortText(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, summaryMax);
}
