import { negativeZero } from "./check-json.ts";

const digitsMax = 100;
/** Fifteen digits always survive; most numbers are judged by this alone. */
const short = /^-?[1-9]\d{0,14}$|^0$/;

/** Why a JSON number would not mean the same after it was read as a double, or null if it would. */
export function numberProblem(token: string): string | null {
  if (short.test(token)) return null;
  const value = Number(token);
  if (!Number.isFinite(value)) return `${token} is too large for a number; send it as a text`;
  if (Object.is(value, -0)) return negativeZero;
  const { digits, normal } = decimalOf(token);
  // A number that survived reads the same when it is written back: in short, or with as many digits as it came with.
  const written = [String(value), value.toPrecision(Math.min(Math.max(digits.length, 1), digitsMax))];
  if (written.some((text) => decimalOf(text).normal === normal)) return null;
  return `${token} would become ${value}; send it as a text`;
}

interface Decimal {
  /** Without zeros at either end. */
  readonly digits: string;
  /** One text for one value, whichever side of zero it is on: reading a number does not change that. */
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

/** By hand: the regular expression for it takes the square of the length. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}
