import { negativeZero } from "./check-json.ts";

const DIGITS_MAX = 100;
/** Numbers of up to fifteen digits, which a double always holds exactly. Most numbers match. */
const shortNumber = /^-?[1-9]\d{0,14}$|^0$/;

/** Returns the reason why reading a JSON number as a double would change its value, or null. */
export function jsonNumberProblem(token: string): string | null {
  if (shortNumber.test(token)) return null;
  const value = Number(token);
  if (!Number.isFinite(value)) return `${token} is too large for a number; send it as a text`;
  if (Object.is(value, -0)) return negativeZero;
  const { digits, normal } = decimalOf(token);
  // A number survives if it is written back unchanged, either in its shortest form or with its original digit count.
  const written = [String(value), value.toPrecision(Math.min(Math.max(digits.length, 1), DIGITS_MAX))];
  if (written.some((text) => decimalOf(text).normal === normal)) return null;
  return `${token} would become ${value}; send it as a text`;
}

interface Decimal {
  /** Without leading and trailing zeros. */
  readonly digits: string;
  /** The same text for equal values. The sign is omitted, because reading a number does not change it. */
  readonly normal: string;
}

function decimalOf(token: string): Decimal {
  const [mantissa, exponent] = token.toLowerCase().split("e");
  const [whole, fraction = ""] = (mantissa as string).replace("-", "").split(".");
  const all = (whole + fraction).replace(/^0+/, "");
  const digits = withoutTrailingZeros(all);
  if (digits === "") return { digits, normal: "0" };
  const power = Number(exponent ?? 0) - fraction.length + (all.length - digits.length);
  return { digits, normal: `${digits}e${power}` };
}

/** A loop, because the regular expression for it takes quadratic time. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}
