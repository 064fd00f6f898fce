import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** The folder that holds package.json. */
export const repositoryRoot = folderWithPackage(import.meta.dirname);

function folderWithPackage(folder: string): string {
  return existsSync(join(folder, "package.json")) ? folder : folderWithPackage(dirname(folder));
}

/** Returns the absolute path of a file of the repository. */
export function repositoryPath(...parts: readonly string[]): string {
  return join(repositoryRoot, ...parts);
}

/** The URL of a built module, as a program imports it. */
export function builtModule(file: string): string {
  return pathToFileURL(repositoryPath("dist", file)).href;
}
