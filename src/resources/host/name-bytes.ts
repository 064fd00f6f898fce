import { isUtf8 } from "node:buffer";

/**
 * Names of files are bytes. As text, each byte that is no UTF-8 stands as a lone surrogate (U+DC80 to U+DCFF), so that no name is
 * lost and none stands for two.
 */
export function nameFrom(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = letterLength(bytes, at);
    text +=
      length === 0 ? String.fromCharCode(0xdc00 + (bytes[at] as number)) : bytes.toString("utf8", at, at + length);
    at += Math.max(1, length);
  }
  return text;
}

/** How many bytes the letter at a place has; 0: none. */
function letterLength(bytes: Buffer, at: number): number {
  return [1, 2, 3, 4].find((length) => at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length))) ?? 0;
}

const loneSurrogate = /[\uD800-\uDFFF]/u;

/** What the operating system is asked with: text as it is, unless some of it stands for bytes. */
export function osPath(path: string): string | Buffer {
  if (!loneSurrogate.test(path)) return path;
  const parts: Buffer[] = [];
  for (const letter of path) {
    const code = letter.codePointAt(0) as number;
    parts.push(code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(letter));
  }
  return Buffer.concat(parts);
}

/** What a listing shows for bytes that are no UTF-8. */
const replacement = "\uFFFD";

/** The names in a directory, whatever bytes they are made of. */
export function namesIn(list: (encoding: "utf8" | "buffer") => readonly (string | Buffer)[]): readonly string[] {
  const names = list("utf8") as readonly string[];
  if (!names.some((name) => name.includes(replacement))) return names;
  return list("buffer").map((name) => nameFrom(name as Buffer));
}
