import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Access, Capture } from "../../src/core/ports/resource.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { type Disk, realDisk } from "../../src/resources/host/disk.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import type { HostFilesystemOptions } from "../../src/resources/host/working-tree.ts";
import { createTestTree, memoryFolder, refusalCode, type TestTree } from "./test-tree.ts";
import { listTree } from "./tree-listing.ts";

const opened: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

function makeTree(files: Readonly<Record<string, string>> = {}): TestTree {
  const tree = createTestTree({ "a.txt": "aaa", "d/b.txt": "bbb", ...files }, memoryFolder);
  opened.push(async () => tree.clear());
  return tree;
}

function openTree(tree: TestTree, options: Partial<HostFilesystemOptions> = {}): HostFilesystem {
  const resource = new HostFilesystem({ ...tree, ...options });
  opened.push(() => resource.dispose());
  return resource;
}

async function handle(tree: TestTree): Promise<Filesystem> {
  const resource = openTree(tree);
  return resource.open(await resource.capture("test", "handle"));
}

describe("symbolic links", () => {
  it("are not followed as the file, above it or in a chain", async () => {
    const tree = makeTree();
    writeFileSync(join(tree.outside, "secret"), "secret");
    symlinkSync(tree.outside, tree.path("out"));
    symlinkSync("out", tree.path("chain"));
    symlinkSync(join(tree.outside, "secret"), tree.path("file"));
    symlinkSync(join(tree.outside, "not-yet"), tree.path("dangling"));
    symlinkSync("d", tree.path("inside"));
    const files = await handle(tree);
    for (const path of ["file", "dangling", "out/secret", "chain/secret", "out/new", "inside/b.txt"]) {
      expect(await refusalCode(files.read(path)), path).toBe("PATH_FORBIDDEN");
      expect(await refusalCode(files.write(path, "x")), path).toBe("PATH_FORBIDDEN");
      expect(await refusalCode(files.append(path, "x")), path).toBe("PATH_FORBIDDEN");
    }
    expect(await refusalCode(files.list("out"))).toBe("PATH_FORBIDDEN");
    expect(await refusalCode(files.mkdir("out/new"))).toBe("PATH_FORBIDDEN");
    expect(await refusalCode(files.delete("out/secret"))).toBe("PATH_FORBIDDEN");
    expect(await files.glob("**")).toEqual(["a.txt", "d/b.txt"]);
    expect(existsSync(join(tree.outside, "not-yet"))).toBe(false);
    expect(readFileSync(join(tree.outside, "secret"), "utf8")).toBe("secret");
  });

  it("are deleted themselves and are restored", async () => {
    const tree = makeTree();
    writeFileSync(join(tree.outside, "kept"), "kept");
    symlinkSync(tree.outside, tree.path("out"));
    const before = listTree(tree.root);
    const resource = openTree(tree);
    const capture = await resource.capture("test", "handle");
    await (await resource.open(capture)).delete("out");
    expect(existsSync(join(tree.outside, "kept"))).toBe(true);
    await resource.restore(capture);
    expect(listTree(tree.root)).toEqual(before);
  });

  it("that appear between the check and the open are not followed", async () => {
    const tree = makeTree();
    mkdirSync(join(tree.outside, "d"));
    writeFileSync(join(tree.outside, "d/b.txt"), "outside");
    // The worst case: swapped right before the open, and back right after it.
    const swap = (): void => {
      renameSync(tree.path("d"), tree.path("moved"));
      symlinkSync(join(tree.outside, "d"), tree.path("d"));
    };
    const swapBack = (): void => {
      unlinkSync(tree.path("d"));
      renameSync(tree.path("moved"), tree.path("d"));
    };
    const openSync = ((path: string, flags: number, mode?: number) => {
      if (!String(path).endsWith("/d")) return realDisk.openSync(path, flags, mode);
      swap();
      try {
        return realDisk.openSync(path, flags, mode);
      } finally {
        swapBack();
      }
    }) as Disk["openSync"];
    const disk: Disk = { ...realDisk, openSync };
    const resource = openTree(tree, { disk });
    const files = await resource.open(await resource.capture("test", "handle"));
    for (const work of [
      () => files.read("d/b.txt"),
      () => files.write("d/b.txt", "x"),
      () => files.delete("d/b.txt"),
    ]) {
      expect(await refusalCode(work)).toMatch(/^(?:PATH_FORBIDDEN|FILE_UNFIT|FILE_NOT_FOUND)$/);
    }
    expect(readFileSync(join(tree.outside, "d/b.txt"), "utf8")).toBe("outside");
  });
});

describe("special files", () => {
  it("are not opened: a pipe does not block, and a hard link is not written through", async () => {
    const tree = makeTree();
    execFileSync("mkfifo", [tree.path("pipe")]);
    writeFileSync(join(tree.outside, "shadow"), "theirs");
    linkSync(join(tree.outside, "shadow"), tree.path("mine"));
    const files = await handle(tree);
    expect(await refusalCode(files.read("pipe"))).toBe("FILE_UNFIT");
    expect(await refusalCode(files.write("pipe", "x"))).toBe("FILE_UNFIT");
    expect(await refusalCode(files.delete("pipe"))).toBe("FILE_UNFIT");
    expect(await refusalCode(files.write("mine", "x"))).toBe("PATH_FORBIDDEN");
    expect(readFileSync(join(tree.outside, "shadow"), "utf8")).toBe("theirs");
  });

  it("are removed when the tool created them", async () => {
    const tree = makeTree();
    const before = listTree(tree.root);
    const resource = openTree(tree);
    const capture = await resource.capture("test", "raw");
    await resource.open(capture);
    execFileSync("mkfifo", [tree.path("pipe")]);
    linkSync(tree.path("a.txt"), join(tree.outside, "leaked"));
    writeFileSync(tree.path("a.txt"), "also through the other hard link");
    await resource.restore(capture);
    expect(listTree(tree.root)).toEqual(before);
    expect(readFileSync(join(tree.outside, "leaked"), "utf8")).toBe("also through the other hard link");
  });
});

describe("filesystem mounted inside the tree", () => {
  it("is neither captured nor entered", async () => {
    const tree = makeTree();
    const device = (path: unknown, stats: Stats | undefined) =>
      stats !== undefined && String(path).endsWith("/d") ? Object.assign(stats, { dev: stats.dev + 1 }) : stats;
    const lstatSync = ((path: string, options: object) => device(path, realDisk.lstatSync(path, options))) as never;
    const opened = new Map<number, string>();
    const openSync = ((path: string, flags: number, mode?: number) => {
      const descriptor = realDisk.openSync(path, flags, mode);
      opened.set(descriptor, String(path));
      return descriptor;
    }) as Disk["openSync"];
    const fstatSync = ((file: number) => device(opened.get(file), realDisk.fstatSync(file))) as never;
    const resource = openTree(tree, { disk: { ...realDisk, lstatSync, fstatSync, openSync } });
    expect(await refusalCode(resource.capture("test", "raw"))).toBe("RESOURCE_UNFIT");
    const files = await resource.open(await resource.capture("test", "handle"));
    expect(await refusalCode(files.read("d/b.txt"))).toBe("PATH_FORBIDDEN");
    expect(await refusalCode(files.write("d/new", ""))).toBe("PATH_FORBIDDEN");
  });
});

describe("excluded paths", () => {
  it("are reported, never changed and do not block a call", async () => {
    const tree = makeTree({ "node_modules/x/index.js": "installed", "d/node_modules/y": "y" });
    const resource = openTree(tree);
    const capture = await resource.capture("test", "raw");
    expect(capture.excluded).toEqual(["d/node_modules", "node_modules", "extended attributes"].toSorted(byKind));
    await resource.open(capture);
    writeFileSync(tree.path("node_modules/x/index.js"), "newer");
    writeFileSync(tree.path("a.txt"), "changed");
    mkdirSync(tree.path("made/node_modules"), { recursive: true });
    await resource.restore(capture);
    expect(readFileSync(tree.path("node_modules/x/index.js"), "utf8")).toBe("newer");
    expect(readFileSync(tree.path("a.txt"), "utf8")).toBe("aaa");
    expect(existsSync(tree.path("made"))).toBe(false);
  });

  const byKind = (left: string, right: string): number =>
    Number(left.startsWith("ext")) - Number(right.startsWith("ext")) || left.localeCompare(right);
});

describe("two processes on one tree", () => {
  it("exclude each other: the second is refused until the first ends", async () => {
    const tree = makeTree();
    const [ours, theirs] = [openTree(tree), openTree(tree)];
    const capture = await ours.capture("ours", "handle");
    expect(await refusalCode(theirs.capture("theirs", "handle"))).toBe("RESOURCE_BUSY");
    expect(await refusalCode(ours.capture("again", "raw"))).toBe("RESOURCE_BUSY");
    await ours.close(capture);
    expect(await refusalCode(theirs.capture("theirs", "handle"))).toBe("RESOURCE_BUSY");
    await ours.keep(capture);
    const next = await theirs.capture("theirs", "handle");
    await (await theirs.open(next)).write("a.txt", "theirs");
    await theirs.dispose();
    // The process died. Its changes must be undone first.
    expect(await refusalCode(ours.capture("ours", "raw"))).toBe("RESOURCE_BUSY");
    await ours.restore(next);
    expect(readFileSync(tree.path("a.txt"), "utf8")).toBe("aaa");
    await ours.capture("ours", "raw");
  });

  it("do not wait for a process that died before it changed anything", async () => {
    const tree = makeTree();
    for (const access of ["handle", "raw"] as const) {
      const dead = openTree(tree);
      const capture = await dead.capture("dead", access);
      await dead.dispose();
      writeFileSync(tree.path("a.txt"), `a person's, after ${access}`);
      const next = openTree(tree);
      const own = await next.capture("next", access);
      await next.close(own);
      await next.keep(own);
      expect(await next.restore(capture)).toMatchObject({ outcome: "nothing" });
      expect(readFileSync(tree.path("a.txt"), "utf8")).toBe(`a person's, after ${access}`);
      await next.release(capture);
      expect(await refusalCode(next.restore(capture))).toBe("CAPTURE_NOT_FOUND");
      await next.dispose();
    }
  });
});

describe("incomplete restore", () => {
  it.each<[string, Partial<Disk>]>([
    ["the time", { utimesSync: () => {}, futimesSync: () => {} }],
    ["the mode", { chmodSync: () => {}, fchmodSync: () => {} }],
    [
      "the content",
      {
        writeSync: ((file: number, bytes: Uint8Array, ...rest: [number, number]) => {
          const zeros = realDisk.fstatSync(file).nlink > 0 && bytes.length === 3 ? new Uint8Array(3) : bytes;
          return realDisk.writeSync(file, zeros, ...rest);
        }) as Disk["writeSync"],
      },
    ],
  ])("is reported: %s", async (_, missing) => {
    const tree = makeTree();
    const capture = await dieInCall(tree);
    const faulty = openTree(tree, { disk: { ...realDisk, ...missing } });
    expect(await refusalCode(faulty.restore(capture))).toBe("RESTORE_FAILED");
    await faulty.dispose();
    await openTree(tree).restore(capture);
    expect(readFileSync(tree.path("a.txt"), "utf8")).toBe("aaa");
  });

  /** Leaves a tree whose process died during a call. */
  const dieInCall = async (tree: TestTree): Promise<Capture> => {
    const dead = openTree(tree);
    const capture = await dead.capture("dead", "handle");
    const files = await dead.open(capture);
    await files.delete("d/b.txt");
    await files.write("a.txt", "changed");
    await dead.dispose();
    chmodSync(tree.path("a.txt"), 0o600);
    return capture;
  };
});

describe("file that gained a hard link when its process died", () => {
  it("has lost the link when the next process opens the tree", async () => {
    const tree = makeTree();
    const dead = openTree(tree);
    const { id } = await dead.capture("dead", "handle");
    linkSync(tree.path("a.txt"), join(tree.store, "aside", `${id}.1`));
    await dead.dispose();
    const next = openTree(tree);
    await next.close(await next.capture("next", "raw"));
  });
});

describe.each<[Access]>([["handle"], ["raw"]])("undo of an ended call, %s", (access) => {
  it("changes nothing if the files changed since", async () => {
    const tree = makeTree();
    const resource = openTree(tree);
    const capture = await resource.capture("test", access);
    const files = await resource.open(capture);
    await files.write("a.txt", "the call's");
    await files.write("new.txt", "the call's");
    await resource.close(capture);
    appendFileSync(tree.path("new.txt"), ", and a person's");
    const before = listTree(tree.root);
    expect(await refusalCode(resource.restore(capture))).toBe("RESTORE_BLOCKED");
    expect(listTree(tree.root)).toEqual(before);
    writeFileSync(tree.path("new.txt"), "the call's");
    expect(await refusalCode(resource.restore(capture))).toBe("RESTORE_BLOCKED");
  });
});

describe("tree that changes during capture", () => {
  /** Opens the tree with a disk that calls `interfere` before each read. */
  const openInterfered = (tree: TestTree, interfere: (count: number) => void): HostFilesystem => {
    let count = 0;
    const readSync = ((...args: Parameters<Disk["readSync"]>) => {
      count += 1;
      interfere(count);
      return realDisk.readSync(...args);
    }) as Disk["readSync"];
    return openTree(tree, { disk: { ...realDisk, readSync } });
  };

  it.each<[string, (tree: TestTree, count: number) => void]>([
    ["a file that grows", (tree) => appendFileSync(tree.path("a.txt"), "+")],
    ["a file that is overwritten in place", (tree, count) => writeFileSync(tree.path("a.txt"), `${count % 10}aa`)],
    ["a directory that gets new entries", (tree, count) => writeFileSync(tree.path(`d/${count}`), "")],
  ])("is refused: %s", async (_, interfere) => {
    const tree = makeTree();
    const resource = openInterfered(tree, (count) => interfere(tree, count));
    expect(await refusalCode(resource.capture("test", "raw"))).toBe("RESOURCE_RESTLESS");
  });

  it("is captured once it is stable: a file that vanishes is absent", async () => {
    const tree = makeTree({ "gone.txt": "gone" });
    const resource = openInterfered(tree, () => rmSync(tree.path("gone.txt"), { force: true }));
    const capture = await resource.capture("test", "raw");
    await resource.open(capture);
    writeFileSync(tree.path("gone.txt"), "made by the tool");
    await resource.restore(capture);
    expect(existsSync(tree.path("gone.txt"))).toBe(false);
  });
});

describe("file that changes when its call first writes it", () => {
  const large = "l".repeat(9_000_000);
  const openInterfered = (tree: TestTree, path: string, interfere: (count: number) => void): HostFilesystem => {
    const opened = new Set<number>();
    let count = 0;
    const openSync = ((at: string, flags: number, mode?: number) => {
      const descriptor = realDisk.openSync(at, flags, mode);
      if (String(at).endsWith(path)) opened.add(descriptor);
      return descriptor;
    }) as Disk["openSync"];
    const readSync = ((...args: Parameters<Disk["readSync"]>) => {
      if (opened.has(args[0])) {
        count += 1;
        interfere(count);
      }
      return realDisk.readSync(...args);
    }) as Disk["readSync"];
    return openTree(tree, { disk: { ...realDisk, openSync, readSync } });
  };

  it.each<[string, string, (tree: TestTree, count: number) => void]>([
    ["shrinks", "a.txt", (tree) => truncateSync(tree.path("a.txt"), 1)],
    ["is emptied in place", "a.txt", (tree) => truncateSync(tree.path("a.txt"), 0)],
    ["shrinks, and is large", "large", (tree) => truncateSync(tree.path("large"), 10)],
    [
      "has another content at the second read",
      "large",
      (tree, count) => count === 3 && writeFileSync(tree.path("large"), "m".repeat(large.length)),
    ],
  ])("is not written: it %s", async (_, path, interfere) => {
    const tree = makeTree({ large });
    const resource = openInterfered(tree, path, (count) => interfere(tree, count));
    const capture = await resource.capture("test", "handle");
    const files = await resource.open(capture);
    expect(await refusalCode(files.write(path, "ours"))).toBe("RESOURCE_RESTLESS");
    const theirs = readFileSync(tree.path(path), "utf8");
    expect(await resource.restore(capture)).toMatchObject({ changed: 0 });
    expect(readFileSync(tree.path(path), "utf8")).toBe(theirs);
  });
});

describe("cached file", () => {
  it("is read again if it could have changed without a new timestamp", async () => {
    const tree = makeTree();
    const now = 1_700_000_000_000;
    // Simulates a file system whose clock does not advance.
    const withFixedTimes = <ReadStats extends (...args: never[]) => unknown>(readStats: ReadStats): ReadStats =>
      ((...args: never[]) => Object.assign(readStats(...args) as object, { ctimeMs: now, mtimeMs: now })) as ReadStats;
    const disk: Disk = {
      ...realDisk,
      lstatSync: withFixedTimes(realDisk.lstatSync),
      fstatSync: withFixedTimes(realDisk.fstatSync),
    };
    const resource = openTree(tree, { disk, now: () => now + 1000 });
    const digests = new Set<string | null>();
    for (const text of ["one", "two", "six"]) {
      writeFileSync(tree.path("a.txt"), text);
      const capture = await resource.capture(text, "raw");
      digests.add(capture.digest);
      await resource.close(capture);
      await resource.keep(capture);
    }
    expect(digests.size).toBe(3);
  });

  it("is kept while a capture needs it, and no longer", async () => {
    const tree = makeTree();
    const before = listTree(tree.root);
    const resource = openTree(tree);
    const capture = await resource.capture("test", "raw");
    await resource.open(capture);
    writeFileSync(tree.path("a.txt"), "changed");
    await resource.close(capture);
    expect(await resource.sweep()).toBe(0);
    await resource.restore(capture);
    expect(listTree(tree.root)).toEqual(before);
    await resource.release(capture);
    expect(await resource.sweep()).toBe(1);
    const next = await resource.capture("test", "raw");
    expect(next.digest).toBe(capture.digest);
  });
});

describe("tree root", () => {
  it("must be a directory", async () => {
    const tree = makeTree();
    for (const root of [tree.path("nowhere"), tree.path("a.txt"), tree.path("a.txt/below")]) {
      expect(await refusalCode(async () => openTree(tree, { root }))).toBe("CONFIG_INVALID");
    }
  });
});

describe("captures folder", () => {
  it("is not created without disk space, and is created when there is some", async () => {
    const tree = makeTree();
    const writeSync = () => {
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    };
    const full = { ...realDisk, writeSync: writeSync as Disk["writeSync"] };
    expect(await refusalCode(async () => openTree(tree, { disk: full }))).toBe("RESOURCE_FULL");
    await openTree(tree).capture("test", "raw");
  });

  it("is neither inside the tree, nor around it, nor that of another tree", async () => {
    const [tree, other] = [makeTree(), makeTree()];
    const config = (options: Partial<HostFilesystemOptions>) => async () => openTree(tree, options);
    expect(await refusalCode(config({ store: tree.path("store") }))).toBe("CONFIG_INVALID");
    expect(await refusalCode(config({ store: join(tree.root, "..") }))).toBe("CONFIG_INVALID");
    openTree(other);
    expect(await refusalCode(config({ store: other.store }))).toBe("CONFIG_INVALID");
  });
});
