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
import type { Access, Capture } from "../src/core/resource.ts";
import type { Filesystem } from "../src/resources/filesystem.ts";
import { type Disk, realDisk } from "../src/resources/host/disk.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import type { HostFilesystemOptions } from "../src/resources/host/host-parts.ts";
import { portrait } from "./fidelity/portrait.ts";
import { quickPlace, refusal, type WorkingTree, workingTree } from "./working-tree.ts";

const opened: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

function tree(files: Readonly<Record<string, string>> = {}): WorkingTree {
  const made = workingTree({ "a.txt": "aaa", "d/b.txt": "bbb", ...files }, quickPlace);
  opened.push(async () => made.clear());
  return made;
}

function over(made: WorkingTree, options: Partial<HostFilesystemOptions> = {}): HostFilesystem {
  const resource = new HostFilesystem({ ...made, ...options });
  opened.push(() => resource.dispose());
  return resource;
}

async function handle(made: WorkingTree): Promise<Filesystem> {
  const resource = over(made);
  return resource.open(await resource.capture("test", "handle"));
}

describe("links", () => {
  it("lead nowhere, whether they are the file, above it, or in a chain", async () => {
    const made = tree();
    writeFileSync(join(made.outside, "secret"), "secret");
    symlinkSync(made.outside, made.path("out"));
    symlinkSync("out", made.path("chain"));
    symlinkSync(join(made.outside, "secret"), made.path("file"));
    symlinkSync(join(made.outside, "not-yet"), made.path("dangling"));
    symlinkSync("d", made.path("inside"));
    const files = await handle(made);
    for (const path of ["file", "dangling", "out/secret", "chain/secret", "out/new", "inside/b.txt"]) {
      expect(await refusal(files.read(path)), path).toBe("PATH_FORBIDDEN");
      expect(await refusal(files.write(path, "x")), path).toBe("PATH_FORBIDDEN");
      expect(await refusal(files.append(path, "x")), path).toBe("PATH_FORBIDDEN");
    }
    expect(await refusal(files.list("out"))).toBe("PATH_FORBIDDEN");
    expect(await refusal(files.mkdir("out/new"))).toBe("PATH_FORBIDDEN");
    expect(await refusal(files.delete("out/secret"))).toBe("PATH_FORBIDDEN");
    expect(await files.glob("**")).toEqual(["a.txt", "d/b.txt"]);
    expect(existsSync(join(made.outside, "not-yet"))).toBe(false);
    expect(readFileSync(join(made.outside, "secret"), "utf8")).toBe("secret");
  });

  it("are deleted themselves, and come back", async () => {
    const made = tree();
    writeFileSync(join(made.outside, "kept"), "kept");
    symlinkSync(made.outside, made.path("out"));
    const before = portrait(made.root);
    const resource = over(made);
    const capture = await resource.capture("test", "handle");
    await (await resource.open(capture)).delete("out");
    expect(existsSync(join(made.outside, "kept"))).toBe(true);
    await resource.restore(capture);
    expect(portrait(made.root)).toEqual(before);
  });

  it("that are put in the way between a look and an open are not followed either", async () => {
    const made = tree();
    mkdirSync(join(made.outside, "d"));
    writeFileSync(join(made.outside, "d/b.txt"), "outside");
    // Swapped right before it is opened, and back right after that: as unlucky as can be.
    const swap = (): void => {
      renameSync(made.path("d"), made.path("moved"));
      symlinkSync(join(made.outside, "d"), made.path("d"));
    };
    const swapBack = (): void => {
      unlinkSync(made.path("d"));
      renameSync(made.path("moved"), made.path("d"));
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
    const resource = over(made, { disk });
    const files = await resource.open(await resource.capture("test", "handle"));
    for (const work of [
      () => files.read("d/b.txt"),
      () => files.write("d/b.txt", "x"),
      () => files.delete("d/b.txt"),
    ]) {
      expect(await refusal(work)).toMatch(/^(?:PATH_FORBIDDEN|FILE_UNFIT|FILE_NOT_FOUND)$/);
    }
    expect(readFileSync(join(made.outside, "d/b.txt"), "utf8")).toBe("outside");
  });
});

describe("what is no plain file", () => {
  it("is not opened: a pipe does not keep anybody waiting, and a second name is not written through", async () => {
    const made = tree();
    execFileSync("mkfifo", [made.path("pipe")]);
    writeFileSync(join(made.outside, "shadow"), "theirs");
    linkSync(join(made.outside, "shadow"), made.path("mine"));
    const files = await handle(made);
    expect(await refusal(files.read("pipe"))).toBe("FILE_UNFIT");
    expect(await refusal(files.write("pipe", "x"))).toBe("FILE_UNFIT");
    expect(await refusal(files.delete("pipe"))).toBe("FILE_UNFIT");
    expect(await refusal(files.write("mine", "x"))).toBe("PATH_FORBIDDEN");
    expect(readFileSync(join(made.outside, "shadow"), "utf8")).toBe("theirs");
  });

  it("is removed when the tool made it", async () => {
    const made = tree();
    const before = portrait(made.root);
    const resource = over(made);
    const capture = await resource.capture("test", "raw");
    await resource.open(capture);
    execFileSync("mkfifo", [made.path("pipe")]);
    linkSync(made.path("a.txt"), join(made.outside, "leaked"));
    writeFileSync(made.path("a.txt"), "through the other name, too");
    await resource.restore(capture);
    expect(portrait(made.root)).toEqual(before);
    expect(readFileSync(join(made.outside, "leaked"), "utf8")).toBe("through the other name, too");
  });
});

describe("a file system that is mounted in the tree", () => {
  it("is neither captured nor entered", async () => {
    const made = tree();
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
    const resource = over(made, { disk: { ...realDisk, lstatSync, fstatSync, openSync } });
    expect(await refusal(resource.capture("test", "raw"))).toBe("RESOURCE_UNFIT");
    const files = await resource.open(await resource.capture("test", "handle"));
    expect(await refusal(files.read("d/b.txt"))).toBe("PATH_FORBIDDEN");
    expect(await refusal(files.write("d/new", ""))).toBe("PATH_FORBIDDEN");
  });
});

describe("what is excluded", () => {
  it("is told, never touched, and does not stand in the way", async () => {
    const made = tree({ "node_modules/x/index.js": "installed", "d/node_modules/y": "y" });
    const resource = over(made);
    const capture = await resource.capture("test", "raw");
    expect(capture.excluded).toEqual(["d/node_modules", "node_modules", "extended attributes"].toSorted(listed));
    await resource.open(capture);
    writeFileSync(made.path("node_modules/x/index.js"), "newer");
    writeFileSync(made.path("a.txt"), "changed");
    mkdirSync(made.path("made/node_modules"), { recursive: true });
    await resource.restore(capture);
    expect(readFileSync(made.path("node_modules/x/index.js"), "utf8")).toBe("newer");
    expect(readFileSync(made.path("a.txt"), "utf8")).toBe("aaa");
    expect(existsSync(made.path("made"))).toBe(false);
  });

  const listed = (left: string, right: string): number =>
    Number(left.startsWith("ext")) - Number(right.startsWith("ext")) || left.localeCompare(right);
});

describe("two at work on one tree", () => {
  it("are told apart: the second is refused until the first has ended", async () => {
    const made = tree();
    const [ours, theirs] = [over(made), over(made)];
    const capture = await ours.capture("ours", "handle");
    expect(await refusal(theirs.capture("theirs", "handle"))).toBe("RESOURCE_BUSY");
    expect(await refusal(ours.capture("again", "raw"))).toBe("RESOURCE_BUSY");
    await ours.close(capture);
    expect(await refusal(theirs.capture("theirs", "handle"))).toBe("RESOURCE_BUSY");
    await ours.keep(capture);
    const next = await theirs.capture("theirs", "handle");
    await (await theirs.open(next)).write("a.txt", "theirs");
    await theirs.dispose();
    // It died without a word. What it did must be undone first.
    expect(await refusal(ours.capture("ours", "raw"))).toBe("RESOURCE_BUSY");
    await ours.restore(next);
    expect(readFileSync(made.path("a.txt"), "utf8")).toBe("aaa");
    await ours.capture("ours", "raw");
  });

  it("do not wait for one that died before it could change anything", async () => {
    const made = tree();
    for (const access of ["handle", "raw"] as const) {
      const dead = over(made);
      const capture = await dead.capture("dead", access);
      await dead.dispose();
      writeFileSync(made.path("a.txt"), `a person's, after ${access}`);
      const next = over(made);
      const own = await next.capture("next", access);
      await next.close(own);
      await next.keep(own);
      expect(await refusal(next.restore(capture))).toBe("CAPTURE_NOT_FOUND");
      expect(readFileSync(made.path("a.txt"), "utf8")).toBe(`a person's, after ${access}`);
      await next.dispose();
    }
  });
});

describe("a restore that did not put everything right", () => {
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
  ])("says so: %s", async (_, missing) => {
    const made = tree();
    const capture = await broken(made);
    const faulty = over(made, { disk: { ...realDisk, ...missing } });
    expect(await refusal(faulty.restore(capture))).toBe("RESTORE_FAILED");
    await faulty.dispose();
    await over(made).restore(capture);
    expect(readFileSync(made.path("a.txt"), "utf8")).toBe("aaa");
  });

  /** Somebody died at it. */
  const broken = async (made: WorkingTree): Promise<Capture> => {
    const dead = over(made);
    const capture = await dead.capture("dead", "handle");
    const files = await dead.open(capture);
    await files.delete("d/b.txt");
    await files.write("a.txt", "changed");
    await dead.dispose();
    chmodSync(made.path("a.txt"), 0o600);
    return capture;
  };
});

describe("a file that had just been given a second name when its process died", () => {
  it("has lost it when the next one comes", async () => {
    const made = tree();
    const dead = over(made);
    const { id } = await dead.capture("dead", "handle");
    linkSync(made.path("a.txt"), join(made.store, "aside", `${id}.1`));
    await dead.dispose();
    const next = over(made);
    await next.close(await next.capture("next", "raw"));
  });
});

describe.each<[Access]>([["handle"], ["raw"]])("undoing a call that had ended, %s", (access) => {
  it("touches nothing if somebody else has changed what it left", async () => {
    const made = tree();
    const resource = over(made);
    const capture = await resource.capture("test", access);
    const files = await resource.open(capture);
    await files.write("a.txt", "the call's");
    await files.write("new.txt", "the call's");
    await resource.close(capture);
    appendFileSync(made.path("new.txt"), ", and a person's");
    const before = portrait(made.root);
    expect(await refusal(resource.restore(capture))).toBe("RESTORE_BLOCKED");
    expect(portrait(made.root)).toEqual(before);
    writeFileSync(made.path("new.txt"), "the call's");
    expect(await refusal(resource.restore(capture))).toBe("RESTORE_BLOCKED");
  });
});

describe("a tree that moves while it is looked at", () => {
  /** Does something whenever a file is about to be read. */
  const meddled = (made: WorkingTree, meddle: (count: number) => void): HostFilesystem => {
    let count = 0;
    const readSync = ((...args: Parameters<Disk["readSync"]>) => {
      count += 1;
      meddle(count);
      return realDisk.readSync(...args);
    }) as Disk["readSync"];
    return over(made, { disk: { ...realDisk, readSync } });
  };

  it.each<[string, (made: WorkingTree, count: number) => void]>([
    ["a file that grows", (made) => appendFileSync(made.path("a.txt"), "+")],
    ["a file that is written in its place", (made, count) => writeFileSync(made.path("a.txt"), `${count % 10}aa`)],
    ["a directory that gets new entries", (made, count) => writeFileSync(made.path(`d/${count}`), "")],
  ])("is refused: %s", async (_, meddle) => {
    const made = tree();
    const resource = meddled(made, (count) => meddle(made, count));
    expect(await refusal(resource.capture("test", "raw"))).toBe("RESOURCE_RESTLESS");
  });

  it("is captured once it holds still: a file that vanishes is not there", async () => {
    const made = tree({ "gone.txt": "gone" });
    const resource = meddled(made, () => rmSync(made.path("gone.txt"), { force: true }));
    const capture = await resource.capture("test", "raw");
    await resource.open(capture);
    writeFileSync(made.path("gone.txt"), "made by the tool");
    await resource.restore(capture);
    expect(existsSync(made.path("gone.txt"))).toBe(false);
  });
});

describe("a file that changes in the moment in which its call first writes it", () => {
  const large = "l".repeat(9_000_000);
  const meddled = (made: WorkingTree, path: string, meddle: (count: number) => void): HostFilesystem => {
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
        meddle(count);
      }
      return realDisk.readSync(...args);
    }) as Disk["readSync"];
    return over(made, { disk: { ...realDisk, openSync, readSync } });
  };

  it.each<[string, string, (made: WorkingTree, count: number) => void]>([
    ["shrinks", "a.txt", (made) => truncateSync(made.path("a.txt"), 1)],
    ["vanishes in its place", "a.txt", (made) => truncateSync(made.path("a.txt"), 0)],
    ["shrinks, and is large", "large", (made) => truncateSync(made.path("large"), 10)],
    [
      "is another one the second time it is read",
      "large",
      (made, count) => count === 3 && writeFileSync(made.path("large"), "m".repeat(large.length)),
    ],
  ])("is not written: it %s", async (_, path, meddle) => {
    const made = tree({ large });
    const resource = meddled(made, path, (count) => meddle(made, count));
    const capture = await resource.capture("test", "handle");
    const files = await resource.open(capture);
    expect(await refusal(files.write(path, "ours"))).toBe("RESOURCE_RESTLESS");
    const theirs = readFileSync(made.path(path), "utf8");
    expect(await resource.restore(capture)).toMatchObject({ changed: 0 });
    expect(readFileSync(made.path(path), "utf8")).toBe(theirs);
  });
});

describe("what was seen before", () => {
  it("is read again if it could have changed without showing it", async () => {
    const made = tree();
    const now = 1_700_000_000_000;
    // A file system whose clock has not moved on.
    const still = <Look extends (...args: never[]) => unknown>(look: Look): Look =>
      ((...args: never[]) => Object.assign(look(...args) as object, { ctimeMs: now, mtimeMs: now })) as Look;
    const disk: Disk = { ...realDisk, lstatSync: still(realDisk.lstatSync), fstatSync: still(realDisk.fstatSync) };
    const resource = over(made, { disk, now: () => now + 1000 });
    const digests = new Set<string | null>();
    for (const text of ["one", "two", "six"]) {
      writeFileSync(made.path("a.txt"), text);
      const capture = await resource.capture(text, "raw");
      digests.add(capture.digest);
      await resource.close(capture);
      await resource.keep(capture);
    }
    expect(digests.size).toBe(3);
  });

  it("is kept for as long as a capture needs it, and no longer", async () => {
    const made = tree();
    const before = portrait(made.root);
    const resource = over(made);
    const capture = await resource.capture("test", "raw");
    await resource.open(capture);
    writeFileSync(made.path("a.txt"), "changed");
    await resource.close(capture);
    expect(await resource.sweep()).toBe(0);
    await resource.restore(capture);
    expect(portrait(made.root)).toEqual(before);
    await resource.release(capture);
    expect(await resource.sweep()).toBe(1);
    const again = await resource.capture("test", "raw");
    expect(again.digest).toBe(capture.digest);
  });
});

describe("a root", () => {
  it("is a directory", async () => {
    const made = tree();
    for (const root of [made.path("nowhere"), made.path("a.txt"), made.path("a.txt/below")]) {
      expect(await refusal(async () => over(made, { root }))).toBe("CONFIG_INVALID");
    }
  });
});

describe("the folder that captures are kept in", () => {
  it("is not begun where there is no room for it, and is when there is", async () => {
    const made = tree();
    const writeSync = () => {
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    };
    const full = { ...realDisk, writeSync: writeSync as Disk["writeSync"] };
    expect(await refusal(async () => over(made, { disk: full }))).toBe("RESOURCE_FULL");
    await over(made).capture("test", "raw");
  });

  it("is not in the tree, nor around it, nor another tree's", async () => {
    const [made, other] = [tree(), tree()];
    const config = (options: Partial<HostFilesystemOptions>) => async () => over(made, options);
    expect(await refusal(config({ store: made.path("store") }))).toBe("CONFIG_INVALID");
    expect(await refusal(config({ store: join(made.root, "..") }))).toBe("CONFIG_INVALID");
    over(other);
    expect(await refusal(config({ store: other.store }))).toBe("CONFIG_INVALID");
  });
});
