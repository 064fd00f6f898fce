// Tools that change files of a working tree. The tree is a resource: captured before each call, so that it can be restored.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { defineTool } from "writ";
import { z } from "zod";
import { lineDiff } from "./line-diff.mjs";

/** Only pages of the tree: no path leads out of it. */
const path = z.string().regex(/^[\w-]+(\/[\w-]+)*\.md$/);
const changed = z.object({ path: z.string(), diff: z.string() });
const common = { effect: "writes", resources: { files: "handle" } };

/** `tree` is the folder of the files. A preview reads it and changes nothing. */
export function fileTools({ tree }) {
  const textOf = (name) => readFile(join(tree, name), "utf8");
  const edited = (text, { path, find, replace }) => {
    if (text.split(find).length !== 2) throw new Error(`${path} does not contain the text exactly once`);
    return text.replace(find, () => replace);
  };
  return [
    defineTool({
      name: "files.read",
      effect: "reads",
      input: z.object({ path }),
      output: z.object({ text: z.string() }),
      run: async (given) => ({ text: await textOf(given.path) }),
    }),
    defineTool({
      name: "files.write",
      ...common,
      input: z.object({ path, text: z.string() }),
      output: changed,
      run: async (given, { resource }) => {
        await resource("files").write(given.path, given.text);
        return { path: given.path, diff: lineDiff("", given.text) };
      },
    }),
    defineTool({
      name: "files.edit",
      ...common,
      input: z.object({ path, find: z.string(), replace: z.string() }),
      output: changed,
      preview: async (given) => {
        const text = await textOf(given.path);
        return { path: given.path, diff: lineDiff(text, edited(text, given)) };
      },
      run: async (given, { resource }) => {
        const files = resource("files");
        const text = await files.readText(given.path);
        await files.write(given.path, edited(text, given));
        return { path: given.path, diff: lineDiff(text, edited(text, given)) };
      },
    }),
    defineTool({
      name: "files.delete",
      ...common,
      input: z.object({ path }),
      output: changed,
      preview: async (given) => ({ path: given.path, diff: lineDiff(await textOf(given.path), "") }),
      run: async (given, { resource }) => {
        const files = resource("files");
        const text = await files.readText(given.path);
        await files.delete(given.path);
        return { path: given.path, diff: lineDiff(text, "") };
      },
    }),
  ];
}
