import { digestOfParts } from "../engine/ports/digest.ts";

const MAX_LENGTH = 64;

/**
 * Returns a name in Writ for each tool of a server: `server.tool`. Writ allows 64 letters, digits, dots, dashes and
 * underscores. A name that needs other characters, is longer, or would equal another one or one that `isTaken` gets a
 * part of its digest.
 */
export function mcpToolNames(
  server: string,
  tools: readonly string[],
  isTaken: (name: string) => boolean = () => false,
): ReadonlyMap<string, string> {
  const plain = tools.map((tool) => plainName(`${server}.${tool}`));
  const uses = new Map<string, number>();
  for (const name of plain) uses.set(name, (uses.get(name) ?? 0) + 1);
  return new Map(
    tools.map((tool, index) => {
      const name = plain[index] as string;
      const isExact = name === `${server}.${tool}` && name.length <= MAX_LENGTH && uses.get(name) === 1;
      return [tool, isExact && !isTaken(name) ? name : digestName(name, server, tool)];
    }),
  );
}

function plainName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, "_");
}

function digestName(name: string, server: string, tool: string): string {
  const digest = digestOfParts("mcp tool", server, tool).slice(0, 12);
  return `${name.slice(0, MAX_LENGTH - digest.length - 1)}-${digest}`;
}
