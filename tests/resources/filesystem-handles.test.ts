import { afterEach, describe, expect, it } from "vitest";
import type { Capture, Resource } from "../../src/core/ports/resource.ts";
import type { FileLimits } from "../../src/resources/file-limits.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { createTestTree, refusalCode } from "./test-tree.ts";

interface OpenResource {
  readonly resource: Resource<Filesystem>;
  close(): Promise<void>;
}

function inMemory(limits: Partial<FileLimits>): OpenResource {
  return { resource: new MemoryFilesystem({ limits }), close: async () => {} };
}

function onHost(limits: Partial<FileLimits>): OpenResource {
  const { root, store, clear } = createTestTree();
  const resource = new HostFilesystem({ root, store, limits });
  return { resource, close: () => resource.dispose().then(clear) };
}

describe.each([
  ["in memory", inMemory],
  ["on the host", onHost],
])("%s", (_, open) => {
  const opened: OpenResource[] = [];
  const openResource = (limits: Partial<FileLimits> = {}): Resource<Filesystem> => {
    const one = open(limits);
    opened.push(one);
    return one.resource;
  };
  const openFiles = async (limits?: Partial<FileLimits>): Promise<Filesystem> => {
    const resource = openResource(limits);
    return resource.open(await resource.capture("test", "handle"));
  };
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });

  describe("filesystem handle", () => {
    it("reads what it wrote and creates parent directories", async () => {
      const files = await openFiles();
      await files.write("a/b/c.txt", "one\n");
      await files.append("a/b/c.txt", "two\n");
      expect(await files.readText("a/b/c.txt")).toBe("one\ntwo\n");
      expect(await files.list("a")).toEqual([{ name: "b", kind: "directory" }]);
      expect(await files.stat("a/b/c.txt")).toMatchObject({ kind: "file", bytes: 8 });
      expect(await files.stat("a/x")).toBeNull();
    });

    it("reads and writes in pieces", async () => {
      const files = await openFiles();
      const pieces = [Buffer.alloc(70_000, 1), Buffer.alloc(70_000, 2)];
      await files.writeStream("big", pieces);
      const read: Uint8Array[] = [];
      for await (const chunk of files.readStream("big")) read.push(chunk);
      expect(read.length).toBeGreaterThan(1);
      expect(Buffer.concat(read).equals(Buffer.concat(pieces))).toBe(true);
    });

    it("returns copies: changing a read value writes nothing", async () => {
      const files = await openFiles();
      await files.write("a", "as it was");
      (await files.read("a")).fill(0);
      for await (const chunk of files.readStream("a")) chunk.fill(0);
      expect(await files.readText("a")).toBe("as it was");
    });

    it("accepts text of complete characters or bytes, and nothing else", async () => {
      const files = await openFiles();
      await files.write("a", "as it was");
      for (const wrong of ["\ud800", 5, null, undefined, {}, [65]] as never[]) {
        expect(await refusalCode(files.write("a", wrong))).toBe("INVALID_INPUT");
        expect(await refusalCode(files.append("a", wrong))).toBe("INVALID_INPUT");
        expect(await refusalCode(files.edit("a", { find: "was", replace: wrong }))).toBe("INVALID_INPUT");
      }
      expect(await refusalCode(files.writeStream("b", [5 as never]))).toBe("INVALID_INPUT");
      expect(await files.readText("a")).toBe("as it was");
    });

    it("edits text that occurs exactly once, or every occurrence on request", async () => {
      const files = await openFiles();
      await files.write("a", "x y x");
      expect(await refusalCode(files.edit("a", { find: "z", replace: "" }))).toBe("FILE_UNFIT");
      expect(await refusalCode(files.edit("a", { find: "x", replace: "$&" }))).toBe("FILE_UNFIT");
      expect(await files.edit("a", { find: "y", replace: "$&" })).toBe(1);
      expect(await files.edit("a", { find: "x", replace: "w", times: "all" })).toBe(2);
      expect(await files.readText("a")).toBe("w $& w");
    });

    it("finds files by pattern and by content", async () => {
      const files = await openFiles();
      await files.write("src/a.ts", "let one\nlet two\n");
      await files.write("src/deep/b.tsx", "LET three\n");
      await files.write("c.md", "let\n");
      await files.write("src/bin", Buffer.from([0, 108, 101, 116]));
      expect(await files.glob("src/**/*.{ts,tsx}")).toEqual(["src/a.ts", "src/deep/b.tsx"]);
      expect(await files.glob("*.md")).toEqual(["c.md"]);
      expect(await files.glob("**/?.ts")).toEqual(["src/a.ts"]);
      expect(await files.grep("let", { glob: "src/**" })).toEqual([
        { path: "src/a.ts", line: 1, text: "let one" },
        { path: "src/a.ts", line: 2, text: "let two" },
      ]);
      expect(await files.grep("let t", { ignoreCase: true })).toHaveLength(2);
    });

    it("deletes files, and directories with content only on request", async () => {
      const files = await openFiles();
      await files.write("a/b/c", "");
      expect(await refusalCode(files.delete("a"))).toBe("FILE_UNFIT");
      await files.delete("a", { recursive: true });
      expect(await files.list("")).toEqual([]);
      expect(await refusalCode(files.delete("a"))).toBe("FILE_NOT_FOUND");
    });

    it("refuses operations that do not fit the entry", async () => {
      const files = await openFiles();
      await files.write("file", Buffer.from([0xff]));
      await files.mkdir("directory");
      await files.mkdir("directory");
      expect(await refusalCode(files.read("nothing"))).toBe("FILE_NOT_FOUND");
      expect(await refusalCode(files.read("directory"))).toBe("FILE_UNFIT");
      expect(await refusalCode(files.readText("file"))).toBe("FILE_UNFIT");
      expect(await refusalCode(files.list("file"))).toBe("FILE_UNFIT");
      expect(await refusalCode(files.write("directory", ""))).toBe("FILE_UNFIT");
      expect(await refusalCode(files.write("file/below", ""))).toBe("FILE_UNFIT");
      expect(await refusalCode(files.write("file", "", { ifExists: "refuse" }))).toBe("FILE_UNFIT");
      expect(await refusalCode(files.write("", ""))).toBe("FILE_UNFIT");
    });

    it.each([
      ["../x", "a/../../x", "/etc/passwd", "a//b", "./a", "a/.", "a/", "a\\b", "..\\x", "C:/x", "c:x"],
      ["a\ud800", "\udc00/b", ".g\udce2\udc80\udc8cit/x", 5 as unknown as string, undefined as unknown as string],
      ["%2e%2e/x", "a%2Fb", "x%00", "a\0b", "trailing.", "trailing ", "\\\\server\\share", "//server/share"],
    ])("refuses a path that another reader could resolve elsewhere: %s …", async (...paths) => {
      const files = await openFiles();
      for (const path of paths) {
        expect(await refusalCode(files.write(path, "")), path).toBe("PATH_FORBIDDEN");
        expect(await refusalCode(files.read(path)), path).toBe("PATH_FORBIDDEN");
        expect(await refusalCode(files.stat(path)), path).toBe("PATH_FORBIDDEN");
      }
    });

    it.each([
      [
        ".git/hooks/pre-commit",
        ".GIT/config",
        ".g\u200cit/config",
        ".\u1d33it/x",
        "a/.git",
        "GIT~1/config",
        ".gıt/x".replace("ı", "i"),
      ],
      [
        ".bashrc",
        ".vscode/tasks.json",
        ".mcp.json",
        ".ssh/authorized_keys",
        ".npmrc",
        ".writ/x",
        ".Claude/settings.json",
      ],
    ])("refuses to write under a name that configures other programs: %s …", async (...paths) => {
      const files = await openFiles();
      for (const path of paths) {
        expect(await refusalCode(files.write(path, "")), path).toBe("PATH_FORBIDDEN");
        expect(await refusalCode(files.mkdir(path)), path).toBe("PATH_FORBIDDEN");
        expect(await refusalCode(files.delete(path)), path).toBe("PATH_FORBIDDEN");
      }
      await files.write(".gitignore", "dist\n");
    });

    it.each<[keyof FileLimits, (files: Filesystem) => Promise<unknown>]>([
      ["fileBytes", (files) => files.write("a", "12345")],
      ["fileBytes", (files) => files.append("abc", "45")],
      ["streamBytes", (files) => files.writeStream("s", [Buffer.alloc(3), Buffer.alloc(2)])],
      ["pathSegments", (files) => files.stat("a/b/c/d/e")],
      ["segmentBytes", (files) => files.stat("äöü")],
      ["listEntries", (files) => files.list("many")],
      ["globMatches", (files) => files.glob("many/*")],
      ["grepMatches", (files) => files.grep("e")],
      ["grepBytes", (files) => files.grep("nowhere")],
      ["treeEntries", (files) => files.glob("nowhere")],
      ["treeEntries", (files) => files.grep("nowhere")],
    ])("enforces the limit %s, which the fault names", async (limit, exceed) => {
      const files = await openFiles({ [limit]: 4 });
      const existing = limit === "fileBytes" ? ["abc"] : [];
      for (const path of existing) await files.write(path, "abc");
      const most = /^(?:list|glob|grep|tree)/.test(limit) ? 5 : 0;
      for (let count = 0; count < most; count += 1) await files.write(`many/${count}`, "e\n");
      const fault = await exceed(files).then(
        () => null,
        (error) => error.fault,
      );
      expect(fault).toMatchObject({ code: "LIMIT_EXCEEDED", detail: { limit, most: 4, found: expect.any(Number) } });
    });

    it("searches in pieces: lines across pieces, files of any size, no binary files", async () => {
      const files = await openFiles({ fileBytes: 200_000 });
      const long = "x".repeat(65_530);
      const text = Buffer.from(`${long}needle ä\r\n${"short\n".repeat(40_000)}last needle`);
      await files.writeStream("large", [text.subarray(0, 65_533), text.subarray(65_533)]);
      await files.write("binary", Buffer.from("needle\0"));
      expect(await files.grep("NEEDLE", { ignoreCase: true })).toEqual([
        { path: "large", line: 1, text: `${long}needle ä` },
        { path: "large", line: 40_002, text: "last needle" },
      ]);
      await files.writeStream("one line", [Buffer.alloc(150_000, 97), Buffer.alloc(150_000, 97)]);
      expect(await refusalCode(files.grep("needle"))).toBe("LIMIT_EXCEEDED");
    });

    it("stops searching when its call ends", async () => {
      const resource = openResource();
      const capture = await resource.capture("test", "handle");
      const files = await resource.open(capture);
      for (let count = 0; count < 200; count += 1) await files.write(`many/${count}`, "text");
      const [found, globbed] = [files.grep("nowhere"), files.glob("**/nothing")];
      const results = Promise.all([refusalCode(found), refusalCode(globbed)]);
      await resource.restore(capture);
      expect(await results).toEqual(["NOT_POSSIBLE", "NOT_POSSIBLE"]);
    });

    it("fails for a handler that continues after its call has ended", async () => {
      const resource = openResource();
      const closed = await resource.capture("one", "handle");
      const late = await resource.open(closed);
      await resource.close(closed);
      await resource.keep(closed);
      expect(await refusalCode(late.write("a", ""))).toBe("NOT_POSSIBLE");
      const undone = await resource.capture("two", "handle");
      const later = await resource.open(undone);
      await later.write("a", "");
      await resource.restore(undone);
      expect(await refusalCode(later.write("a", ""))).toBe("NOT_POSSIBLE");
      expect(await refusalCode(later.read("a"))).toBe("NOT_POSSIBLE");
    });
  });

  describe("call on a filesystem", () => {
    it("that fails restores everything and reports how much it restored", async () => {
      const resource = openResource();
      await runKeptCall(resource, async (files) => {
        await files.write("kept/a", "a");
        await files.write("kept/b", "b");
        await files.mkdir("empty");
      });
      const before = await resource.digest();
      const capture = await resource.capture("failing", "handle");
      const files = await resource.open(capture);
      await files.write("kept/a", "other");
      await files.append("kept/a", "more");
      await files.delete("kept/b");
      await files.write("kept/b", "another");
      await files.delete("empty");
      await files.write("empty", "now a file");
      await files.write("new/deep/file", "");
      await files.delete("kept", { recursive: true });
      await files.write("kept", "was a directory");
      const results = await resource.restore(capture);
      expect(results).toMatchObject({ outcome: "restored" });
      expect(await resource.digest()).toBe(before);
      expect(await resource.restore(capture)).toEqual(results);
      expect(await resource.digest()).toBe(before);
    });

    it("that succeeds is kept, reports its changes and can still be undone", async () => {
      const resource = openResource();
      await runKeptCall(resource, (files) => files.write("a", "1"));
      const before = await resource.digest();
      const capture = await resource.capture("changing", "handle");
      const files = await resource.open(capture);
      await files.write("a", "2");
      await files.write("b", "2");
      expect(await resource.close(capture)).toMatchObject({
        changed: 2,
        changes: [
          { path: "a", change: "changed" },
          { path: "b", change: "added" },
        ],
      });
      await resource.keep(capture);
      const after = await resource.digest();
      const later = await runKeptCall(resource, (files) => files.delete("a"));
      const beforeIt = { capture, side: "before" } as const;
      expect(await resource.diff(beforeIt, { capture: later, side: "before" })).toEqual([
        { path: "a", change: "changed", bytes: { before: 1, after: 1 } },
        { path: "b", change: "added", bytes: { before: null, after: 1 } },
      ]);
      expect(await resource.diff(beforeIt, "now")).toEqual([
        { path: "a", change: "removed", bytes: { before: 1, after: null } },
        { path: "b", change: "added", bytes: { before: null, after: 1 } },
      ]);
      await resource.restore(later);
      expect(await resource.digest()).toBe(after);
      await resource.restore(capture);
      expect(await resource.digest()).toBe(before);
    });

    it("is undone together with every later call", async () => {
      const resource = openResource();
      const before = await resource.digest();
      const first = await runKeptCall(resource, (files) => files.write("a", "1"));
      await runKeptCall(resource, (files) => files.write("a", "2"));
      await runKeptCall(resource, (files) => files.delete("a"));
      await resource.restore(first);
      expect(await resource.digest()).toBe(before);
    });

    it("that is given up after it was closed blocks others until it is kept or restored", async () => {
      const resource = openResource();
      for (const ending of ["keep", "restore"] as const) {
        const capture = await resource.capture("given up", "handle");
        await (await resource.open(capture)).write("a", ending);
        await resource.close(capture);
        await resource.leave(capture);
        expect(await refusalCode(resource.capture("next", "handle"))).toBe("RESOURCE_BUSY");
        const abandoned = await resource.left();
        expect(abandoned).toEqual({ capture, isClosed: true });
        await resource[ending](capture);
        expect(await resource.left()).toBeNull();
        const next = await resource.capture("next", "handle");
        expect(await (await resource.open(next)).readText("a")).toBe("keep");
        await resource.release(next);
      }
    });

    it("that is given up before it was closed leaves nothing", async () => {
      const resource = openResource();
      const capture = await resource.capture("given up", "handle");
      await (await resource.open(capture)).write("a", "x");
      await resource.leave(capture);
      const abandoned = await resource.left();
      if (abandoned !== null) await resource.restore(abandoned.capture);
      const next = await resource.capture("next", "handle");
      expect(await (await resource.open(next)).stat("a")).toBeNull();
    });

    it("cannot be undone after release, and releasing twice is harmless", async () => {
      const resource = openResource();
      const capture = await runKeptCall(resource, (files) => files.write("a", "1"));
      await resource.release(capture);
      await resource.release(capture);
      expect(await refusalCode(resource.restore(capture))).toBe("CAPTURE_NOT_FOUND");
      expect(await refusalCode(resource.diff({ capture, side: "before" }, "now"))).toBe("CAPTURE_NOT_FOUND");
    });
  });
});

async function runKeptCall(
  resource: Resource<Filesystem>,
  work: (files: Filesystem) => Promise<unknown>,
): Promise<Capture> {
  const capture = await resource.capture("work", "handle");
  await work(await resource.open(capture));
  await resource.close(capture);
  await resource.keep(capture);
  return capture;
}
