/** Errors of known servers that prove that nothing happened, by a part of the command that starts the server. */
const presets: readonly { readonly command: RegExp; readonly notDone: RegExp }[] = [
  {
    // These checks of the file server come before its first change. Other errors of it are unknown outcomes.
    command: /(^|[/\\])(server-filesystem|mcp-server-filesystem)(@|$)/,
    notDone:
      /^(Error: )?(Access denied|Parent directory does not exist|Could not find exact match for edit|Destination already exists|ENOENT|ENOTDIR|EISDIR|Input validation error|MCP error -32602)/i,
  },
  {
    // The memory server looks for the entity before it saves the graph.
    command: /(^|[/\\])(server-memory|mcp-server-memory)(@|$)/,
    notDone: /^(Error: )?(Entity with name .* not found|Input validation error|MCP error -32602)/i,
  },
];

/** Returns the errors of a server that prove that nothing happened, or null if Writ knows none. */
export function notDoneErrors(command: readonly string[]): RegExp | null {
  return presets.find(({ command: part }) => command.some((word) => part.test(word)))?.notDone ?? null;
}
