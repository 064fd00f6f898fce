import { describe, expect, it } from "vitest";
import { FaultError } from "../core/fault.ts";
import { MemoryFilesystem } from "./memory-filesystem.ts";

const code = (error: unknown): string => (error instanceof FaultError ? error.fault.code : String(error));

describe("calls beside each other on files in memory", () => {
  it("do not see each other, and both are kept if neither touched what the other did", async () => {
    const files = new MemoryFilesystem({ files: { "src/a": "a", "src/b": "b" } });
    const [left, right] = [await files.capture("left", "handle"), await files.capture("right", "handle")];
    const [ours, theirs] = [await files.open(left), await files.open(right)];
    await ours.write("src/a", "left");
    await theirs.write("src/new", "right");
    expect(await theirs.readText("src/b")).toBe("b");
    await files.close(left);
    await files.close(right);
    const after = await files.open(await files.capture("after", "handle"));
    expect([await after.readText("src/a"), await after.readText("src/new")]).toEqual(["left", "right"]);
  });

  it("cannot undo what another has published", async () => {
    const files = new MemoryFilesystem({ files: { a: "a", b: "b" } });
    const [failing, working] = [await files.capture("failing", "handle"), await files.capture("working", "handle")];
    await (await files.open(failing)).write("a", "half done");
    await (await files.open(working)).write("b", "done");
    await files.close(working);
    await files.restore(failing);
    const after = await files.open(await files.capture("after", "handle"));
    expect([await after.readText("a"), await after.readText("b")]).toEqual(["a", "done"]);
  });

  it("are not undone over what another published since", async () => {
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
    ["wrote what it wrote", ({ write }) => write.push("d/a")],
    ["wrote what it read", ({ read }) => read.push("d/a")],
    ["added to what it listed", ({ list }) => list.push("d")],
  ])("are tried again if another %s", async (_, what) => {
    const files = new MemoryFilesystem({ files: { "d/b": "b" } });
    const [first, second] = [await files.capture("first", "handle"), await files.capture("second", "handle")];
    const paths = { read: [], list: [], write: [] };
    what(paths);
    const late = await files.open(second);
    for (const path of paths.read) await late.stat(path);
    for (const path of paths.list) await late.list(path);
    for (const path of paths.write) await late.write(path, "second");
    await (await files.open(first)).write("d/a", "first");
    await files.close(first);
    expect(await files.close(second).catch(code)).toBe("RESOURCE_BUSY");
    expect(await (await files.open(await files.capture("after", "handle"))).readText("d/a")).toBe("first");
  });
});
