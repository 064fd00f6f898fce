import { durationText } from "./relative-time-text.ts";

/** Formats an amount of a unit of limits and costs: `$1.25`, `3 credits`, `12k tokens`. */
export function amountText(unit: string, amount: number): string {
  if (unit === "usd_micros") return usdText(amount);
  if (unit === "ms") return durationText(amount);
  const words: Readonly<Record<string, string>> = { tokens_in: "tokens in", tokens_out: "tokens out" };
  return `${countText(amount)} ${words[unit] ?? unit}`;
}

/** Formats millionths of a dollar: with cents, and below a dollar with three digits that are not zero. */
export function usdText(micros: number): string {
  const usd = micros / 1_000_000;
  const size = Math.abs(usd);
  if (size >= 1) return usd.toLocaleString("en", { style: "currency", currency: "USD" });
  const places = size === 0 ? 2 : Math.min(6, Math.max(2, 2 - Math.floor(Math.log10(size))));
  return `$${usd.toFixed(places).replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}

/** Formats a whole number, large ones in thousands or millions. */
export function countText(count: number): string {
  return count < 10_000
    ? count.toLocaleString("en")
    : count.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}
