import { readFileSync, writeFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import type { Access, Capture, Moment, Resource } from "../src/core/resource.ts";
import type { Standing } from "../src/engine/desk/capture-tag.ts";
import { Resources } from "../src/engine/desk/resources.ts";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import { quickPlace, refusal, workingTree } from "./working-tree.ts";

/** One tree, and what two processes have of it. */
function place() {
  const made = workingTree({ "a.txt": "0" }, quickPlace);
  onTestFinished(() => made.clear());
  const open = (): HostFilesystem => {
    const files = new HostFilesystem({ ...made });
    onTestFinished(() => files.dispose());
    return files;
  };
  const [ours, theirs] = [open(), open()];
  const closed = async (resource: HostFilesystem, text: string, access: Access = "handle"): Promise<Capture> => {
    const capture = await resource.capture(text, access);
    const files = await resource.open(capture);
    if (access === "raw") writeFileSync(made.path("a.txt"), text);
    else await files.write("a.txt", text);
    await resource.close(capture);
    return capture;
  };
  const text = (): string => readFileSync(made.path("a.txt"), "utf8");
  return { ours, theirs, closed, text };
}

const says = (standing: Standing) => async () => standing;
const before = (capture: Capture): Moment => ({ capture, side: "before" });

it("what is on record as done can be gone back to, though its process died before it had kept it", async () => {
  const { ours, theirs, closed, text } = place();
  const capture = await closed(theirs, "1");
  await theirs.dispose();
  const find = async (resource: Resource): Promise<Moment> => {
    expect((await resource.kept()).captures).toEqual([capture]);
    return before(capture);
  };
  const { borrowed } = await new Resources({ files: ours }, says("stands")).rewind(find, "back");
  expect(text()).toBe("0");
  borrowed.keep();
  await borrowed.giveBack();
});

it("what is as it was is held until it is on record that the rest was gone back to", async () => {
  const { ours, theirs } = place();
  const { borrowed, closings } = await new Resources({ files: ours }, says("falls")).rewind(async () => null, "back");
  expect([borrowed.captures, closings]).toEqual([[], []]);
  expect(await refusal(theirs.capture("theirs", "handle"))).toBe("RESOURCE_BUSY");
  await borrowed.giveBack();
  await theirs.release(await theirs.capture("theirs", "handle"));
  expect(await ours.kept()).toMatchObject({ captures: [] });
});

it("what somebody changes in the moment in which it is looked for is not gone back over", async () => {
  const { ours, theirs, closed, text } = place();
  const first = await closed(ours, "1");
  await ours.keep(first);
  const find = async (): Promise<Moment> => {
    await theirs.keep(await closed(theirs, "2"));
    return before(first);
  };
  expect(await refusal(new Resources({ files: ours }, says("falls")).rewind(find, "back"))).toBe("RESOURCE_BUSY");
  expect(text()).toBe("2");
  await theirs.capture("theirs", "handle");
});

it("a tree is looked at as a whole only to go back over a call that went past the handle", async () => {
  const { ours, closed } = place();
  const [raw, handled] = [await closed(ours, "1", "raw"), null];
  await ours.keep(raw);
  const last = await closed(ours, "2");
  await ours.keep(last);
  const resources = new Resources({ files: ours }, says("falls"));
  for (const [to, access] of [
    [last, "handle"],
    [raw, "raw"],
    [handled, null],
  ] as const) {
    const { borrowed } = await resources.rewind(async () => to && before(to), "back");
    expect(borrowed.captures.map((each) => each.access)).toEqual(access === null ? [] : [access]);
    await borrowed.restore();
    await borrowed.giveBack();
  }
});
