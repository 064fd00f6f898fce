/**
 * Errors of the MCP SDKs that precede the handler of a tool. Other errors of the code -32602 are about the output of a
 * tool that has run.
 */
const BEFORE_HANDLER = "(MCP error -32602: )?(Input validation error|Tool .* (not found|disabled)$)";

/** Errors of a known server that prove that nothing happened. */
interface ServerPreset {
  /** The names of the package, program or image that starts the server. */
  readonly names: readonly string[];
  readonly checks: readonly string[];
  /** Tools that repeat a check between their changes, so that it proves nothing. */
  readonly except?: readonly string[];
}

function referenceServer(name: string, checks: readonly string[] = []): ServerPreset {
  return { names: [`server-${name}`, `mcp-server-${name}`], checks };
}

const presets: readonly ServerPreset[] = [
  // These checks of the file server come before its first change. Other errors of it are unknown outcomes.
  referenceServer("filesystem", [
    "Access denied",
    "Parent directory does not exist",
    "Could not find exact match for edit",
    "Destination already exists",
    "ENOENT",
    "ENOTDIR",
    "EISDIR",
  ]),
  // The memory server looks for the entity before it saves the graph.
  referenceServer("memory", ["Entity with name .* not found"]),
  referenceServer("everything"),
  referenceServer("sequential-thinking"),
  {
    // The Python server checks the folder and the names before it starts git.
    names: ["mcp-server-git", "mcp_server_git"],
    checks: [
      "Repository path '.*' is outside the allowed repository '",
      "Invalid (path|branch name|base branch|target|revision): ",
      "Unknown tool: ",
    ],
  },
  {
    // The server of GitHub reads all parameters of a call before its first request.
    names: ["github-mcp-server"],
    checks: [
      "missing required parameter: ",
      "parameter \\S+ (is not of type|is not a valid number|could not be coerced)",
    ],
  },
  {
    // The browser server looks for the element before it touches it. A form has many elements.
    names: ["@playwright/mcp", "mcp-server-playwright"],
    checks: [
      '### Error\\nInvalid arguments for tool "',
      '### Error\\nTool ".*" not found',
      "### Error\\nError: Ref \\S+ not found in the current page snapshot",
      '### Error\\nError: ".*" does not match any elements',
    ],
    except: ["browser_fill_form"],
  },
];

/** Returns, for each tool of a server, the errors that prove that nothing happened, or null if Writ knows none. */
export function errorsWithoutEffect(command: readonly string[]): (tool: string) => RegExp | null {
  const preset = presets.find(({ names }) => command.some((word) => names.some((name) => startsServer(word, name))));
  if (preset === undefined) return () => null;
  const { checks, except = [] } = preset;
  const errors = new RegExp(`^(Error: )?(${[BEFORE_HANDLER, ...checks].join("|")})`, "i");
  return (tool) => (except.includes(tool) ? null : errors);
}

/** True for the name of the package, program or image of the server, also with a path or a version. */
function startsServer(word: string, name: string): boolean {
  return new RegExp(String.raw`(^|[/\\])${name}([@:]|$)`).test(word);
}
