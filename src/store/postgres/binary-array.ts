/**
 * Arrays in Postgres's binary form. As text they would be escaped here, parsed there, and bytes written as hex twice: a third
 * of the rate at which entries can be appended.
 */
interface ElementType<Element> {
  readonly oid: number;
  /** How many bytes an element takes. */
  size(element: Element): number;
  write(target: Buffer, offset: number, element: Element): void;
}

type Encode<Element> = (elements: readonly (Element | null)[]) => Buffer | null;

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;

export const booleans = arrayOf<boolean>({
  oid: 16,
  size: () => 1,
  write: (target, offset, element) => target.writeUInt8(element ? 1 : 0, offset),
});

export const bytes = arrayOf<Uint8Array>({
  oid: 17,
  size: (element) => element.length,
  write: (target, offset, element) => target.set(element, offset),
});

export const integers = arrayOf<number>({
  oid: 23,
  size: () => 4,
  write: (target, offset, element) => target.writeInt32BE(element, offset),
});

export const longs = arrayOf<number>({
  oid: 20,
  size: () => 8,
  // Two halves: a BigInt for each would take several times as long.
  write: (target, offset, element) => {
    target.writeInt32BE(Math.floor(element / 2 ** 32), offset);
    target.writeUInt32BE(element >>> 0, offset + 4);
  },
});

export const doubles = arrayOf<number>({
  oid: 701,
  size: () => 8,
  write: (target, offset, element) => target.writeDoubleBE(element, offset),
});

export const texts = arrayOf<string>({
  oid: 25,
  size: (element) => Buffer.byteLength(element),
  write: (target, offset, element) => target.write(element, offset),
});

/**
 * Nothing at all is null, and so are nothing but nulls: it says the same, a function can ask for it cheaply, and Postgres takes no
 * array apart.
 */
function arrayOf<Element>({ oid, size, write }: ElementType<Element>): Encode<Element> {
  return (elements) => {
    if (elements.every((element) => element === null)) return null;
    const sizes = elements.map((element) => (element === null ? -1 : size(element)));
    const total = sizes.reduce((sum, one) => sum + LENGTH_BYTES + Math.max(0, one), HEADER_BYTES);
    const target = Buffer.allocUnsafe(total);
    target.writeInt32BE(1, 0); // One dimension,
    target.writeInt32BE(sizes.includes(-1) ? 1 : 0, 4); // with nulls or without,
    target.writeInt32BE(oid, 8);
    target.writeInt32BE(elements.length, 12);
    target.writeInt32BE(1, 16); // counted from one.
    let offset = HEADER_BYTES;
    for (const [index, element] of elements.entries()) {
      const length = sizes[index] as number;
      target.writeInt32BE(length, offset);
      offset += LENGTH_BYTES;
      if (element === null) continue;
      write(target, offset, element);
      offset += length;
    }
    return target;
  };
}
