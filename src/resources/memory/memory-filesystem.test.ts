import { describe, expect, it } from "vitest";
import { FaultError } from "../../core/values/fault.ts";
import { MemoryFilesystem } from "./memory-filesystem.ts";

const code = (error: unknown): string => (error instanceof FaultError ? error.fault.code : String(error));

describe("concurrent calls on files in memory", () => {
  it("do not see each other's drafts, and both are published if they touch different paths", async () => {
    const files = new MemoryFilesystem({ files: { "src/a": "a", "src/b": "b" } });
    const [left, right] = [await files.capture("left", "handle"), await files.capture("right", "handle")];
    const [leftFiles, rightFiles] = [await files.open(left), await files.open(right)];
    await leftFiles.write("src/a", "left");
    await rightFiles.write("src/new", "right");
    expect(await rightFiles.readText("src/b")).toBe("b");
    await files.close(left);
    await files.close(right);
    const after = await files.open(await files.capture("after", "handle"));
    expect([await after.readText("src/a"), await after.readText("src/new")]).toEqual(["left", "right"]);
  });

  it("keep the published changes of one call when another is undone", async () => {
    const files = new MemoryFilesystem({ files: { a: "a", b: "b" } });
    const [failing, working] = [await files.capture("failing", "handle"), await files.capture("working", "handle")];
    await (await files.open(failing)).write("a", "half done");
    await (await files.open(working)).write("b", "done");
    await files.close(working);
    await files.restore(failing);
    const after = await files.open(await files.capture("after", "handle"));
    expect([await after.readText("a"), await after.readText("b")]).toEqual(["a", "done"]);
  });

  it("cannot be undone after a later call is kept", async () => {
    const files = new MemoryFilesystem({ files: { a: "a" } });
    const left = await files.capture("left", "handle");
    await (await files.open(left)).write("a", "left");
    await files.close(left);
    const next = await files.capture("next", "handle");
    await (await files.open(next)).write("b", "next");
    await files.close(next);
    await files.keep(next);
    expect(await files.restore(left).catch(code)).toBe("RESTORE_BLOCKED");
    expect(await (await files.open(await files.capture("after", "handle"))).readText("b")).toBe("next");
  });

  it.each<[string, (paths: { read: string[]; list: string[]; write: string[] }) => void]>([
    ["wrote a path that it wrote", ({ write }) => write.push("d/a")],
    ["wrote a path that it read", ({ read }) => read.push("d/a")],
    ["added an entry to a directory that it listed", ({ list }) => list.push("d")],
  ])("fail with RESOURCE_BUSY if another call %s", async (_, addPaths) => {
    const files = new MemoryFilesystem({ files: { "d/b": "b" } });
    const [first, second] = [await files.capture("first", "handle"), await files.capture("second", "handle")];
    const paths = { read: [], list: [], write: [] };
    addPaths(paths);
    const secondFiles = await files.open(second);
    for (const path of paths.read) await secondFiles.stat(path);
    for (const path of paths.list) await secondFiles.list(path);
    for (const path of paths.write) await secondFiles.write(path, "second");
    await (await files.open(first)).write("d/a", "first");
    await files.close(first);
    expect(await files.close(second).catch(code)).toBe("RESOURCE_BUSY");
    expect(await (await files.open(await files.capture("after", "handle"))).readText("d/a")).toBe("first");
  });
});
