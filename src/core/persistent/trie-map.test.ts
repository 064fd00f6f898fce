import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emptyTrieMap, hashText } from "./trie-map.ts";

/** Two texts with the prefix `start` and equal hashes, found by the birthday paradox. */
function findCollision(start: string): readonly [string, string] {
  const textByHash = new Map<number, string>();
  for (let index = 0; ; index += 1) {
    const text = `${start}${index}`;
    const earlier = textByHash.get(hashText(text));
    if (earlier !== undefined) return [earlier, text];
    textByHash.set(hashText(text), text);
  }
}

const [left, right] = findCollision("");
const [tailLeft, tailRight] = findCollision(`${left}-`).map((text) => text.slice(left.length));
const colliding = [left + tailLeft, left + tailRight, right + tailLeft, right + tailRight];

const keys = fc.oneof(
  fc.constantFrom(left, right, ...colliding, "", "__proto__", "constructor", "é", "\ud83d\ude00"),
  fc.string({ maxLength: 2 }),
  fc.string(),
);
const changes = fc.array(fc.tuple(fc.constantFrom("set", "delete"), keys, fc.integer()), { maxLength: 300 });

describe("a trie map", () => {
  it("behaves like a map and never changes an earlier version", () => {
    fc.assert(
      fc.property(changes, (list) => {
        const map = new Map<string, number>();
        let trie = emptyTrieMap<number>();
        for (const [change, key, value] of list) {
          const before = [...trie];
          const earlier = trie;
          if (change === "set") map.set(key, value);
          else map.delete(key);
          trie = change === "set" ? trie.set(key, value) : trie.delete(key);
          expect(trie.get(key)).toBe(map.get(key));
          expect(trie.has(key)).toBe(map.has(key));
          expect([...earlier]).toEqual(before);
        }
        expect(trie.size).toBe(map.size);
        expect(sorted(trie)).toEqual(sorted(map));
      }),
    );
  });

  it("keeps four keys of one hash apart", () => {
    expect(new Set(colliding.map(hashText)).size).toBe(1);
    expect(new Set(colliding).size).toBe(4);
    let trie = emptyTrieMap<string>();
    for (const key of [...colliding, ...colliding]) trie = trie.set(key, `of ${key}`);
    expect(trie.size).toBe(4);
    for (const key of colliding) expect(trie.get(key)).toBe(`of ${key}`);
    for (const key of colliding) trie = trie.delete(key);
    expect([...trie]).toEqual([]);
  });

  it("stores and returns ten thousand keys", () => {
    let trie = emptyTrieMap<number>();
    for (let index = 0; index < 10_000; index += 1) trie = trie.set(`src/file-${index}.ts`, index);
    for (let index = 0; index < 10_000; index += 1) expect(trie.get(`src/file-${index}.ts`)).toBe(index);
    for (let index = 0; index < 10_000; index += 1) trie = trie.delete(`src/file-${index}.ts`);
    expect(trie.size).toBe(0);
    expect([...trie]).toEqual([]);
  });

  it("can store undefined as a value", () => {
    const trie = emptyTrieMap<undefined>().set("a", undefined);
    expect(trie.has("a")).toBe(true);
    expect(trie.size).toBe(1);
  });

  it("returns itself when an absent key is deleted", () => {
    const trie = emptyTrieMap<number>().set("a", 1);
    expect(trie.delete("b")).toBe(trie);
    expect(emptyTrieMap().delete("b").size).toBe(0);
  });
});

function sorted(entries: Iterable<readonly [string, number]>): readonly (readonly [string, number])[] {
  return [...entries].sort(([one], [other]) => (one < other ? -1 : 1));
}
