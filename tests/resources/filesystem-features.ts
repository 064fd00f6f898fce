import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { TestTree } from "./test-tree.ts";

/** A feature of file systems, and what a tool with raw access does to it. */
export interface FilesystemFeature {
  readonly name: string;
  /** restored: the tree is restored exactly. refused: the capture fails and the tool is not called. */
  readonly promise: "restored" | "refused";
  prepare(tree: TestTree): unknown;
  /** The tool, or null if it must not be called. */
  readonly tool: ((tree: TestTree) => unknown) | null;
  /** Runs as another user than root, because permissions do not restrict root. */
  readonly withoutRoot?: true;
  readonly large?: true;
}

/** A path with a name that is not valid UTF-8. */
const notUtf8 = (root: string): Buffer => Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff, 0xfe])]);

const setOldTime = (path: string): void => utimesSync(path, 1_500_000_000.25, 1_500_000_000.123456);

export const filesystemFeatures: readonly FilesystemFeature[] = [
  {
    name: "a nested repository without a commit",
    promise: "restored",
    prepare: ({ path }) => git(path("sub"), "init"),
    tool: ({ path }) => rmSync(path("sub"), { recursive: true }),
  },
  {
    name: "a nested repository with a commit, and a changed file in it",
    promise: "restored",
    prepare: ({ path }) => {
      git(path("sub"), "init");
      writeFileSync(path("sub/file"), "committed");
      git(path("sub"), "add", "-A");
      git(path("sub"), "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-m", "one");
      writeFileSync(path("sub/file"), "changed");
    },
    tool: ({ path }) => {
      git(path("sub"), "reset", "--hard");
      writeFileSync(path("sub/.git/HEAD"), "lost");
    },
  },
  {
    name: "a nested repository that the tool made",
    promise: "restored",
    prepare: () => {},
    tool: ({ path }) => git(path("new/repo"), "init"),
  },
  {
    name: "a file that git would ignore",
    promise: "restored",
    prepare: ({ path }) => {
      writeFileSync(path(".gitignore"), "*.log\n");
      writeFileSync(path("x.log"), "precious");
    },
    tool: ({ path }) => unlinkSync(path("x.log")),
  },
  {
    name: "line endings that git would convert",
    promise: "restored",
    prepare: ({ path }) => {
      writeFileSync(path(".gitattributes"), "* text=auto\n");
      writeFileSync(path("dos.txt"), "one\r\ntwo\r\n");
    },
    tool: ({ path }) => writeFileSync(path("dos.txt"), "one\ntwo\n"),
  },
  {
    name: "an empty directory",
    promise: "restored",
    prepare: ({ path }) => mkdirSync(path("empty/inner"), { recursive: true }),
    tool: ({ path }) => rmSync(path("empty"), { recursive: true }),
  },
  {
    name: "a file only its owner may read",
    promise: "restored",
    prepare: ({ path }) => writeFileSync(path("secret"), "s", { mode: 0o600 }),
    tool: ({ path }) => {
      unlinkSync(path("secret"));
      writeFileSync(path("secret"), "other");
    },
  },
  {
    name: "the executable bit",
    promise: "restored",
    prepare: ({ path }) => writeFileSync(path("run.sh"), "#!/bin/sh\n", { mode: 0o755 }),
    tool: ({ path }) => chmodSync(path("run.sh"), 0o644),
  },
  {
    name: "the setuid, setgid and sticky bits",
    promise: "restored",
    prepare: ({ path }) => {
      writeFileSync(path("suid"), "s");
      chmodSync(path("suid"), 0o4755);
      mkdirSync(path("shared"));
      chmodSync(path("shared"), 0o3777);
    },
    tool: ({ path }) => {
      writeFileSync(path("suid"), "t");
      chmodSync(path("suid"), 0o755);
      chmodSync(path("shared"), 0o755);
    },
  },
  {
    name: "a read-only directory",
    promise: "restored",
    withoutRoot: true,
    prepare: ({ path }) => {
      mkdirSync(path("locked"));
      writeFileSync(path("locked/file"), "kept", { mode: 0o444 });
      chmodSync(path("locked"), 0o555);
    },
    tool: ({ path }) => {
      chmodSync(path("locked"), 0o755);
      unlinkSync(path("locked/file"));
      writeFileSync(path("locked/other"), "");
      chmodSync(path("locked"), 0o555);
    },
  },
  {
    name: "two hard links of one file",
    promise: "restored",
    prepare: ({ path }) => {
      mkdirSync(path("d"));
      writeFileSync(path("d/first"), "same");
      linkSync(path("d/first"), path("second"));
    },
    tool: ({ path }) => {
      appendFileSync(path("second"), "changed");
      unlinkSync(path("d/first"));
    },
  },
  {
    name: "two files that the tool replaced by hard links of one",
    promise: "restored",
    prepare: ({ path }) => {
      for (const name of ["one", "two"]) {
        writeFileSync(path(name), "equal");
        setOldTime(path(name));
      }
    },
    tool: ({ path }) => {
      unlinkSync(path("two"));
      linkSync(path("one"), path("two"));
    },
  },
  {
    name: "the modification time, to the microsecond",
    promise: "restored",
    prepare: ({ path }) => {
      mkdirSync(path("d"));
      writeFileSync(path("d/file"), "x");
      setOldTime(path("d/file"));
      setOldTime(path("d"));
    },
    tool: ({ path }) => {
      writeFileSync(path("d/file"), "x");
      writeFileSync(path("d/new"), "");
    },
  },
  {
    name: "symbolic links, also a dangling one",
    promise: "restored",
    prepare: ({ path, outside }) => {
      symlinkSync("nowhere", path("dangling"));
      symlinkSync(outside, path("out"));
    },
    tool: ({ path, outside }) => {
      unlinkSync(path("dangling"));
      unlinkSync(path("out"));
      symlinkSync(join(outside, "else"), path("out"));
    },
  },
  {
    name: "a directory that became a link",
    promise: "restored",
    prepare: ({ path }) => {
      mkdirSync(path("d"));
      writeFileSync(path("d/file"), "inside");
    },
    tool: ({ path, outside }) => {
      writeFileSync(join(outside, "file"), "outside");
      rmSync(path("d"), { recursive: true });
      symlinkSync(outside, path("d"));
    },
  },
  {
    name: "names with line breaks, quotes and dashes",
    promise: "restored",
    prepare: ({ path }) => ["a\nb", "-rf", `"'$(x)`, " lead", "tab\t"].map((name) => writeFileSync(path(name), name)),
    tool: ({ root, path }) => readdirSync(root).map((name) => rmSync(path(name), { recursive: true })),
  },
  {
    name: "a name that is not UTF-8",
    promise: "restored",
    prepare: ({ root }) => {
      mkdirSync(notUtf8(root));
      writeFileSync(Buffer.concat([notUtf8(root), Buffer.from([0x2f, 0x80])]), "bytes");
    },
    tool: ({ root }) => {
      unlinkSync(Buffer.concat([notUtf8(root), Buffer.from([0x2f, 0x80])]));
      rmdirSync(notUtf8(root));
    },
  },
  {
    name: "two names that differ only in Unicode normalization",
    promise: "restored",
    prepare: ({ path }) => {
      writeFileSync(path("\u00e9"), "composed");
      writeFileSync(path("e\u0301"), "decomposed");
    },
    tool: ({ path }) => {
      unlinkSync(path("\u00e9"));
      writeFileSync(path("e\u0301"), "changed");
    },
  },
  {
    name: "two names that differ only in case",
    promise: "restored",
    prepare: ({ path }) => {
      writeFileSync(path("README"), "upper");
      writeFileSync(path("readme"), "lower");
    },
    tool: ({ path }) => renameSync(path("README"), path("readme")),
  },
  {
    name: "a sparse file",
    promise: "restored",
    prepare: ({ path }) => {
      writeFileSync(path("disk.img"), "head");
      truncateSync(path("disk.img"), 8_388_608);
      appendFileSync(path("disk.img"), "tail");
    },
    tool: ({ path }) => rmSync(path("disk.img")),
  },
  {
    name: "a change that keeps size and modification time",
    promise: "restored",
    prepare: ({ path }) => {
      writeFileSync(path("sly"), "before");
      setOldTime(path("sly"));
    },
    tool: ({ path }) => {
      writeFileSync(path("sly"), "after!");
      setOldTime(path("sly"));
    },
  },
  {
    name: "a file that became a directory, and a directory that became a file",
    promise: "restored",
    prepare: ({ path }) => {
      writeFileSync(path("file"), "f");
      mkdirSync(path("directory/deep"), { recursive: true });
      writeFileSync(path("directory/deep/x"), "x");
    },
    tool: ({ path }) => {
      unlinkSync(path("file"));
      mkdirSync(path("file/deeper"), { recursive: true });
      rmSync(path("directory"), { recursive: true });
      writeFileSync(path("directory"), "d");
    },
  },
  {
    name: "a directory that was moved",
    promise: "restored",
    prepare: ({ path }) => {
      mkdirSync(path("from/deep"), { recursive: true });
      for (let count = 0; count < 50; count += 1) writeFileSync(path(`from/deep/${count}`), `${count}`);
    },
    tool: ({ path }) => renameSync(path("from"), path("to")),
  },
  {
    name: "a hundred thousand files",
    promise: "restored",
    large: true,
    prepare: ({ path }) => {
      for (let directory = 0; directory < 100; directory += 1) {
        mkdirSync(path(`d${directory}`));
        for (let file = 0; file < 1000; file += 1) writeFileSync(path(`d${directory}/${file}`), `${directory} ${file}`);
      }
    },
    tool: ({ path }) => {
      writeFileSync(path("d50/500"), "changed");
      rmSync(path("d99"), { recursive: true });
    },
  },
  {
    name: "a pipe",
    promise: "refused",
    prepare: ({ path }) => execFileSync("mkfifo", [path("pipe")]),
    tool: null,
  },
  {
    name: "a socket",
    promise: "refused",
    prepare: async ({ path }) => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(path("socket"), resolve));
      // Closing the server would remove the socket under its original name.
      renameSync(path("socket"), path("left"));
      await new Promise((resolve) => server.close(resolve));
    },
    tool: null,
  },
  {
    name: "a device",
    promise: "refused",
    prepare: ({ path }) => execFileSync("mknod", [path("null"), "c", "1", "3"]),
    tool: null,
  },
  {
    name: "a directory that cannot be read",
    promise: "refused",
    withoutRoot: true,
    prepare: ({ path }) => {
      mkdirSync(path("closed"));
      chmodSync(path("closed"), 0o000);
    },
    tool: null,
  },
  {
    name: "a file of 4 GiB, which exceeds a limit",
    promise: "refused",
    prepare: ({ path }) => {
      writeFileSync(path("huge"), "");
      truncateSync(path("huge"), 4 * 2 ** 30);
    },
    tool: null,
  },
  {
    name: "a file with a hard link outside the tree",
    promise: "refused",
    prepare: ({ path, outside }) => {
      writeFileSync(join(outside, "shadow"), "not ours");
      linkSync(join(outside, "shadow"), path("mine"));
    },
    tool: null,
  },
  {
    name: "extended attributes, if they must be covered",
    promise: "refused",
    prepare: ({ path }) => {
      writeFileSync(path("tagged"), "x");
      execFileSync("python3", ["-c", "import os,sys; os.setxattr(sys.argv[1], 'user.tag', b'1')", path("tagged")]);
    },
    tool: null,
  },
  {
    name: "a tool that leaves a process writing",
    promise: "restored",
    prepare: ({ path }) => writeFileSync(path("log"), "quiet\n"),
    tool: ({ path }) => startBackgroundWriter(path("log")),
  },
];

/** Starts a process that opens the file and keeps it open. It ends with this process at the latest. */
async function startBackgroundWriter(file: string): Promise<ChildProcess> {
  const program = `const fd = require("fs").openSync(${JSON.stringify(file)}, "a");
    require("fs").writeSync(fd, "still here\\n"); process.stdout.write("."); process.stdin.resume();
    process.stdin.on("end", () => process.exit());`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "inherit"] });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return child;
}

function git(folder: string, ...args: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", ["-c", "init.defaultBranch=main", "-C", folder, ...args], { env, stdio: "ignore" });
  statSync(join(folder, ".git"));
  readFileSync(join(folder, ".git/HEAD"));
}
