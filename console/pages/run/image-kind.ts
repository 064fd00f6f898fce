/** The formats of images that a page shows. SVG is not among them, because it can contain scripts. */
export type ImageKind = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** Returns the format of an image by its first bytes, or null. The name that a tool gives the bytes does not matter. */
export function imageKind(bytes: Uint8Array): ImageKind | null {
  const starts = (signature: readonly number[], at = 0): boolean =>
    signature.every((byte, index) => bytes[at + index] === byte);
  if (starts([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return "image/png";
  if (starts([0xff, 0xd8, 0xff])) return "image/jpeg";
  if (starts([0x47, 0x49, 0x46, 0x38])) return "image/gif";
  if (starts([0x52, 0x49, 0x46, 0x46]) && starts([0x57, 0x45, 0x42, 0x50], 8)) return "image/webp";
  return null;
}
