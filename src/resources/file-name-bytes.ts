import { isUtf8 } from "node:buffer";

/**
 * Decodes a file name, which is a sequence of bytes. Each byte that is not part of valid UTF-8 becomes a lone surrogate
 * (U+DC80 to U+DCFF), so that no name is lost and no two names decode to the same text.
 */
export function decodeFileName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = utf8SequenceLength(bytes, at);
    text +=
      length === 0 ? String.fromCharCode(0xdc00 + (bytes[at] as number)) : bytes.toString("utf8", at, at + length);
    at += Math.max(1, length);
  }
  return text;
}

/** Returns the length of the UTF-8 sequence at an offset, or 0 if none starts there. */
function utf8SequenceLength(bytes: Buffer, at: number): number {
  return [1, 2, 3, 4].find((length) => at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length))) ?? 0;
}

const loneSurrogate = /[\uD800-\uDFFF]/u;

/** Encodes a path for the operating system. Returns a buffer if the path contains bytes that are not UTF-8. */
export function encodeFilePath(path: string): string | Buffer {
  if (!loneSurrogate.test(path)) return path;
  const parts: Buffer[] = [];
  for (const character of path) {
    const code = character.codePointAt(0) as number;
    parts.push(code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(character));
  }
  return Buffer.concat(parts);
}

/** Node puts this character in a listing in place of bytes that are not UTF-8. */
const replacementCharacter = "\uFFFD";

/** Reads the names in a directory, also those that are not UTF-8. */
export function readFileNames(list: (encoding: "utf8" | "buffer") => readonly (string | Buffer)[]): readonly string[] {
  const names = list("utf8") as readonly string[];
  if (!names.some((name) => name.includes(replacementCharacter))) return names;
  return list("buffer").map((name) => decodeFileName(name as Buffer));
}
