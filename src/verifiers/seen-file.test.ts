import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { EffectKey, Instant } from "../core/values/ids.ts";
import { seenFile } from "./seen-file.ts";

interface Wanted {
  readonly path: string;
  readonly text: string;
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "writ-file-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const probe = { key: "k" as EffectKey, since: 0 as Instant, signal: new AbortController().signal };

function look(root: string, input: Wanted) {
  const verify = seenFile<Wanted>({ root, path: ({ path }) => path, content: ({ text }) => text });
  return verify({ ...probe, input });
}

describe("the verifier for a file", () => {
  it("returns happened if the file has exactly this content", async () => {
    const root = folder();
    mkdirSync(join(root, "notes"));
    writeFileSync(join(root, "notes/a.md"), "hello é");
    expect(await look(root, { path: "notes/a.md", text: "hello é" })).toEqual({
      saw: "happened",
      output: { path: "notes/a.md", sha256: hash("sha256", "hello é") },
    });
  });

  it("returns the output of its tool", async () => {
    const root = folder();
    writeFileSync(join(root, "a"), Uint8Array.of(1, 2, 3));
    const verify = seenFile({
      root,
      path: () => "a",
      content: () => Uint8Array.of(1, 2, 3),
      output: ({ bytes }) => ({ size: bytes }),
    });
    expect(await verify({ ...probe, input: {} })).toEqual({ saw: "happened", output: { size: 3 } });
  });

  it("returns absent if the file or its folder does not exist", async () => {
    const root = folder();
    expect(await look(root, { path: "a.md", text: "" })).toEqual({ saw: "absent" });
    expect(await look(root, { path: "no/such/a.md", text: "" })).toEqual({ saw: "absent" });
  });

  it("returns unknown if the path has other content", async () => {
    const root = folder();
    writeFileSync(join(root, "longer"), "hello!");
    writeFileSync(join(root, "other"), "jello");
    mkdirSync(join(root, "folder"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    for (const path of ["longer", "other", "folder", "pipe", "other/below"])
      expect(await look(root, { path, text: "hello" }), path).toMatchObject({ saw: "unknown" });
  });

  it("returns unknown if the root does not exist: its disk may not be mounted", async () => {
    expect(await look(join(folder(), "gone"), { path: "a", text: "" })).toMatchObject({ saw: "unknown" });
  });

  it.each(["../b/secret", "/etc/hostname", "", ".", "..", "a/../../b/secret", "a\0b"])(
    "is not looked for at %j, outside the root",
    async (path) => {
      const parent = folder();
      mkdirSync(join(parent, "a"));
      mkdirSync(join(parent, "b"));
      writeFileSync(join(parent, "b/secret"), "x");
      expect(await look(join(parent, "a"), { path, text: "x" })).toMatchObject({ saw: "unknown" });
    },
  );

  it("does not follow a link in the path", async () => {
    const parent = folder();
    mkdirSync(join(parent, "root"));
    mkdirSync(join(parent, "elsewhere"));
    writeFileSync(join(parent, "elsewhere/a"), "x");
    symlinkSync(join(parent, "elsewhere"), join(parent, "root/link"));
    symlinkSync(join(parent, "elsewhere/a"), join(parent, "root/a"));
    for (const path of ["link/a", "a", "link/none"])
      expect(await look(join(parent, "root"), { path, text: "x" }), path).toMatchObject({
        saw: "unknown",
        why: expect.stringContaining("link"),
      });
  });

  it("accepts a root that is a link", async () => {
    const parent = folder();
    mkdirSync(join(parent, "real"));
    writeFileSync(join(parent, "real/a"), "x");
    symlinkSync(join(parent, "real"), join(parent, "root"));
    expect(await look(join(parent, "root"), { path: "a", text: "x" })).toMatchObject({ saw: "happened" });
  });

  it("returns unknown if its path or content cannot be computed", async () => {
    const verify = seenFile<{ path?: string }>({
      root: folder(),
      path: ({ path }) => (path as string).trim(),
      content: () => "",
    });
    expect(await verify({ ...probe, input: {} })).toMatchObject({ saw: "unknown" });
  });
});
