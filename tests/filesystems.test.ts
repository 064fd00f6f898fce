import { afterEach, describe, expect, it } from "vitest";
import type { Capture, Resource } from "../src/core/resource.ts";
import type { FileLimits } from "../src/resources/file-limits.ts";
import type { Filesystem } from "../src/resources/filesystem.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { MemoryFilesystem } from "../src/resources/memory-filesystem.ts";
import { refusal, workingTree } from "./working-tree.ts";

interface Workshop {
  readonly resource: Resource<Filesystem>;
  close(): Promise<void>;
}

function inMemory(limits: Partial<FileLimits>): Workshop {
  return { resource: new MemoryFilesystem({ limits }), close: async () => {} };
}

function onHost(limits: Partial<FileLimits>): Workshop {
  const { root, store, clear } = workingTree();
  const resource = new HostFilesystem({ root, store, limits });
  return { resource, close: () => resource.dispose().then(clear) };
}

describe.each([
  ["in memory", inMemory],
  ["on the host", onHost],
])("%s", (_, open) => {
  const opened: Workshop[] = [];
  const workshop = (limits: Partial<FileLimits> = {}): Resource<Filesystem> => {
    const one = open(limits);
    opened.push(one);
    return one.resource;
  };
  const working = async (limits?: Partial<FileLimits>): Promise<Filesystem> => {
    const resource = workshop(limits);
    return resource.open(await resource.capture("test", "handle"));
  };
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });

  describe("files through a handle", () => {
    it("are read as they were written, with the directories above made", async () => {
      const files = await working();
      await files.write("a/b/c.txt", "one\n");
      await files.append("a/b/c.txt", "two\n");
      expect(await files.readText("a/b/c.txt")).toBe("one\ntwo\n");
      expect(await files.list("a")).toEqual([{ name: "b", kind: "directory" }]);
      expect(await files.stat("a/b/c.txt")).toMatchObject({ kind: "file", bytes: 8 });
      expect(await files.stat("a/x")).toBeNull();
    });

    it("are read and written piece by piece", async () => {
      const files = await working();
      const pieces = [Buffer.alloc(70_000, 1), Buffer.alloc(70_000, 2)];
      await files.writeStream("big", pieces);
      const read: Uint8Array[] = [];
      for await (const chunk of files.readStream("big")) read.push(chunk);
      expect(read.length).toBeGreaterThan(1);
      expect(Buffer.concat(read).equals(Buffer.concat(pieces))).toBe(true);
    });

    it("are a copy for whoever reads them: what is written in that is written nowhere", async () => {
      const files = await working();
      await files.write("a", "as it was");
      (await files.read("a")).fill(0);
      for await (const chunk of files.readStream("a")) chunk.fill(0);
      expect(await files.readText("a")).toBe("as it was");
    });

    it("are text of whole characters, or bytes, and nothing else is taken for them", async () => {
      const files = await working();
      await files.write("a", "as it was");
      for (const wrong of ["\ud800", 5, null, undefined, {}, [65]] as never[]) {
        expect(await refusal(files.write("a", wrong))).toBe("INVALID_INPUT");
        expect(await refusal(files.append("a", wrong))).toBe("INVALID_INPUT");
        expect(await refusal(files.edit("a", { find: "was", replace: wrong }))).toBe("INVALID_INPUT");
      }
      expect(await refusal(files.writeStream("b", [5 as never]))).toBe("INVALID_INPUT");
      expect(await files.readText("a")).toBe("as it was");
    });

    it("are edited where the text is there exactly once, or everywhere when asked", async () => {
      const files = await working();
      await files.write("a", "x y x");
      expect(await refusal(files.edit("a", { find: "z", replace: "" }))).toBe("FILE_UNFIT");
      expect(await refusal(files.edit("a", { find: "x", replace: "$&" }))).toBe("FILE_UNFIT");
      expect(await files.edit("a", { find: "y", replace: "$&" })).toBe(1);
      expect(await files.edit("a", { find: "x", replace: "w", times: "all" })).toBe(2);
      expect(await files.readText("a")).toBe("w $& w");
    });

    it("are found by pattern and by what is in them", async () => {
      const files = await working();
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

    it("are deleted, a directory with what is in it only when asked", async () => {
      const files = await working();
      await files.write("a/b/c", "");
      expect(await refusal(files.delete("a"))).toBe("FILE_UNFIT");
      await files.delete("a", { recursive: true });
      expect(await files.list("")).toEqual([]);
      expect(await refusal(files.delete("a"))).toBe("FILE_NOT_FOUND");
    });

    it("are not what they are not", async () => {
      const files = await working();
      await files.write("file", Buffer.from([0xff]));
      await files.mkdir("directory");
      await files.mkdir("directory");
      expect(await refusal(files.read("nothing"))).toBe("FILE_NOT_FOUND");
      expect(await refusal(files.read("directory"))).toBe("FILE_UNFIT");
      expect(await refusal(files.readText("file"))).toBe("FILE_UNFIT");
      expect(await refusal(files.list("file"))).toBe("FILE_UNFIT");
      expect(await refusal(files.write("directory", ""))).toBe("FILE_UNFIT");
      expect(await refusal(files.write("file/below", ""))).toBe("FILE_UNFIT");
      expect(await refusal(files.write("file", "", { ifExists: "refuse" }))).toBe("FILE_UNFIT");
      expect(await refusal(files.write("", ""))).toBe("FILE_UNFIT");
    });

    it.each([
      ["../x", "a/../../x", "/etc/passwd", "a//b", "./a", "a/.", "a/", "a\\b", "..\\x", "C:/x", "c:x"],
      ["a\ud800", "\udc00/b", ".g\udce2\udc80\udc8cit/x", 5 as unknown as string, undefined as unknown as string],
      ["%2e%2e/x", "a%2Fb", "x%00", "a\0b", "trailing.", "trailing ", "\\\\server\\share", "//server/share"],
    ])("have no path that another reader could take elsewhere: %s …", async (...paths) => {
      const files = await working();
      for (const path of paths) {
        expect(await refusal(files.write(path, "")), path).toBe("PATH_FORBIDDEN");
        expect(await refusal(files.read(path)), path).toBe("PATH_FORBIDDEN");
        expect(await refusal(files.stat(path)), path).toBe("PATH_FORBIDDEN");
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
    ])("are not written under a name that steers other programs: %s …", async (...paths) => {
      const files = await working();
      for (const path of paths) {
        expect(await refusal(files.write(path, "")), path).toBe("PATH_FORBIDDEN");
        expect(await refusal(files.mkdir(path)), path).toBe("PATH_FORBIDDEN");
        expect(await refusal(files.delete(path)), path).toBe("PATH_FORBIDDEN");
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
    ])("have the limit %s, which a fault names", async (limit, ask) => {
      const files = await working({ [limit]: 4 });
      const roomy = limit === "fileBytes" ? ["abc"] : [];
      for (const path of roomy) await files.write(path, "abc");
      const most = /^(?:list|glob|grep|tree)/.test(limit) ? 5 : 0;
      for (let count = 0; count < most; count += 1) await files.write(`many/${count}`, "e\n");
      const fault = await ask(files).then(
        () => null,
        (error) => error.fault,
      );
      expect(fault).toMatchObject({ code: "LIMIT_EXCEEDED", detail: { limit, most: 4, found: expect.any(Number) } });
    });

    it("are searched a piece at a time: lines across pieces, in files of any size, without what is no text", async () => {
      const files = await working({ fileBytes: 200_000 });
      const long = "x".repeat(65_530);
      const text = Buffer.from(`${long}needle ä\r\n${"short\n".repeat(40_000)}last needle`);
      await files.writeStream("large", [text.subarray(0, 65_533), text.subarray(65_533)]);
      await files.write("binary", Buffer.from("needle\0"));
      expect(await files.grep("NEEDLE", { ignoreCase: true })).toEqual([
        { path: "large", line: 1, text: `${long}needle ä` },
        { path: "large", line: 40_002, text: "last needle" },
      ]);
      await files.writeStream("one line", [Buffer.alloc(150_000, 97), Buffer.alloc(150_000, 97)]);
      expect(await refusal(files.grep("needle"))).toBe("LIMIT_EXCEEDED");
    });

    it("are searched for as long as their call goes on, and no longer", async () => {
      const resource = workshop();
      const capture = await resource.capture("test", "handle");
      const files = await resource.open(capture);
      for (let count = 0; count < 200; count += 1) await files.write(`many/${count}`, "text");
      const [found, globbed] = [files.grep("nowhere"), files.glob("**/nothing")];
      const told = Promise.all([refusal(found), refusal(globbed)]);
      await resource.restore(capture);
      expect(await told).toEqual(["NOT_POSSIBLE", "NOT_POSSIBLE"]);
    });

    it("are no longer there for a handler that goes on after its call has ended", async () => {
      const resource = workshop();
      const closed = await resource.capture("one", "handle");
      const late = await resource.open(closed);
      await resource.close(closed);
      await resource.keep(closed);
      expect(await refusal(late.write("a", ""))).toBe("NOT_POSSIBLE");
      const undone = await resource.capture("two", "handle");
      const later = await resource.open(undone);
      await later.write("a", "");
      await resource.restore(undone);
      expect(await refusal(later.write("a", ""))).toBe("NOT_POSSIBLE");
      expect(await refusal(later.read("a"))).toBe("NOT_POSSIBLE");
    });
  });

  describe("a call", () => {
    it("that fails leaves everything as it was, and says how much it undid", async () => {
      const resource = workshop();
      await worked(resource, async (files) => {
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
      const told = await resource.restore(capture);
      expect(told).toMatchObject({ outcome: "restored" });
      expect(await resource.digest()).toBe(before);
      expect(await resource.restore(capture)).toEqual(told);
      expect(await resource.digest()).toBe(before);
    });

    it("that succeeds is kept, says what it changed, and can still be undone", async () => {
      const resource = workshop();
      await worked(resource, (files) => files.write("a", "1"));
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
      const later = await worked(resource, (files) => files.delete("a"));
      const beforeIt = { capture, side: "before" } as const;
      expect(await resource.diff(beforeIt, { capture: later, side: "before" })).toEqual([
        { path: "a", change: "changed" },
        { path: "b", change: "added" },
      ]);
      expect(await resource.diff(beforeIt, "now")).toEqual([
        { path: "a", change: "removed" },
        { path: "b", change: "added" },
      ]);
      await resource.restore(later);
      expect(await resource.digest()).toBe(after);
      await resource.restore(capture);
      expect(await resource.digest()).toBe(before);
    });

    it("is undone with all that came after it", async () => {
      const resource = workshop();
      const before = await resource.digest();
      const first = await worked(resource, (files) => files.write("a", "1"));
      await worked(resource, (files) => files.write("a", "2"));
      await worked(resource, (files) => files.delete("a"));
      await resource.restore(first);
      expect(await resource.digest()).toBe(before);
    });

    it("that is given up once it was closed keeps others out, until it is kept or put back", async () => {
      const resource = workshop();
      for (const ending of ["keep", "restore"] as const) {
        const capture = await resource.capture("given up", "handle");
        await (await resource.open(capture)).write("a", ending);
        await resource.close(capture);
        await resource.leave(capture);
        expect(await refusal(resource.capture("next", "handle"))).toBe("RESOURCE_BUSY");
        const left = await resource.left();
        expect(left).toEqual({ capture, isClosed: true });
        await resource[ending](capture);
        expect(await resource.left()).toBeNull();
        const next = await resource.capture("next", "handle");
        expect(await (await resource.open(next)).readText("a")).toBe("keep");
        await resource.release(next);
      }
    });

    it("that is given up before it was closed leaves nothing", async () => {
      const resource = workshop();
      const capture = await resource.capture("given up", "handle");
      await (await resource.open(capture)).write("a", "x");
      await resource.leave(capture);
      const left = await resource.left();
      if (left !== null) await resource.restore(left.capture);
      const next = await resource.capture("next", "handle");
      expect(await (await resource.open(next)).stat("a")).toBeNull();
    });

    it("cannot be undone once it was released, which is harmless twice", async () => {
      const resource = workshop();
      const capture = await worked(resource, (files) => files.write("a", "1"));
      await resource.release(capture);
      await resource.release(capture);
      expect(await refusal(resource.restore(capture))).toBe("CAPTURE_NOT_FOUND");
      expect(await refusal(resource.diff({ capture, side: "before" }, "now"))).toBe("CAPTURE_NOT_FOUND");
    });
  });
});

async function worked(resource: Resource<Filesystem>, work: (files: Filesystem) => Promise<unknown>): Promise<Capture> {
  const capture = await resource.capture("work", "handle");
  await work(await resource.open(capture));
  await resource.close(capture);
  await resource.keep(capture);
  return capture;
}
