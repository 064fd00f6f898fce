import { readFileSync, writeFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import type { Access, Capture, Resource, ResourceMoment } from "../../src/core/ports/resource.ts";
import type { CaptureStatus } from "../../src/engine/resources/capture-owner.ts";
import { ResourceRegistry } from "../../src/engine/resources/resource-registry.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { createTestTree, memoryFolder, refusalCode } from "./test-tree.ts";

/** Makes one tree and opens it as two processes would. */
function openTwice() {
  const tree = createTestTree({ "a.txt": "0" }, memoryFolder);
  onTestFinished(() => tree.clear());
  const open = (): HostFilesystem => {
    const files = new HostFilesystem({ ...tree });
    onTestFinished(() => files.dispose());
    return files;
  };
  const [ours, theirs] = [open(), open()];
  const runClosedCall = async (resource: HostFilesystem, text: string, access: Access = "handle"): Promise<Capture> => {
    const capture = await resource.capture(text, access);
    const files = await resource.open(capture);
    if (access === "raw") writeFileSync(tree.path("a.txt"), text);
    else await files.write("a.txt", text);
    await resource.close(capture);
    return capture;
  };
  const text = (): string => readFileSync(tree.path("a.txt"), "utf8");
  return { ours, theirs, runClosedCall, text };
}

const reports = (standing: CaptureStatus) => async () => standing;
const before = (capture: Capture): ResourceMoment => ({ capture, side: "before" });

it("restores to a call recorded as done, though its process died before it kept the capture", async () => {
  const { ours, theirs, runClosedCall, text } = openTwice();
  const capture = await runClosedCall(theirs, "1");
  await theirs.dispose();
  const find = async (resource: Resource): Promise<ResourceMoment> => {
    expect((await resource.kept()).captures).toEqual([capture]);
    return before(capture);
  };
  const { captured } = await new ResourceRegistry({ files: ours }, reports("committed")).rewind(find, "back");
  expect(text()).toBe("0");
  captured.markSucceeded();
  await captured.release();
});

it("keeps the tree locked until the restore is recorded", async () => {
  const { ours, theirs } = openTwice();
  const { captured, closings } = await new ResourceRegistry({ files: ours }, reports("discarded")).rewind(
    async () => null,
    "back",
  );
  expect([captured.captures, closings]).toEqual([[], []]);
  expect(await refusalCode(theirs.capture("theirs", "handle"))).toBe("RESOURCE_BUSY");
  await captured.release();
  await theirs.release(await theirs.capture("theirs", "handle"));
  expect(await ours.kept()).toMatchObject({ captures: [] });
});

it("does not overwrite a file that changes during the check", async () => {
  const { ours, theirs, runClosedCall, text } = openTwice();
  const first = await runClosedCall(ours, "1");
  await ours.keep(first);
  const find = async (): Promise<ResourceMoment> => {
    await theirs.keep(await runClosedCall(theirs, "2"));
    return before(first);
  };
  expect(await refusalCode(new ResourceRegistry({ files: ours }, reports("discarded")).rewind(find, "back"))).toBe(
    "RESOURCE_BUSY",
  );
  expect(text()).toBe("2");
  await theirs.capture("theirs", "handle");
});

it("reads the whole tree only to restore over a raw call", async () => {
  const { ours, runClosedCall } = openTwice();
  const [raw, handled] = [await runClosedCall(ours, "1", "raw"), null];
  await ours.keep(raw);
  const last = await runClosedCall(ours, "2");
  await ours.keep(last);
  const resources = new ResourceRegistry({ files: ours }, reports("discarded"));
  for (const [to, access] of [
    [last, "handle"],
    [raw, "raw"],
    [handled, null],
  ] as const) {
    const { captured } = await resources.rewind(async () => to && before(to), "back");
    expect(captured.captures.map((each) => each.access)).toEqual(access === null ? [] : [access]);
    await captured.restore();
    await captured.release();
  }
});
