import { spawn } from "node:child_process";
import { Command } from "commander";
import { pagePaths } from "../../http-api/page-paths.ts";
import { helpExample, type Invocation, invalidInput } from "../invocation.ts";
import { serverAddress } from "../remote-engine.ts";
import { line } from "../safe-line.ts";

const defaultServer = "http://127.0.0.1:4111";

export function openCommand(invocation: Invocation): Command {
  const command = new Command("open")
    .description(
      "open the page of a run or a gate in the browser; the server is --server, WRIT_SERVER or the local one",
    )
    .argument("<id>", "id of a run or of a gate")
    .option("--print", "print the address, and open nothing")
    .addHelpText("after", helpExample("writ open run_01k2…", "writ open gate_01k2… --print"));
  return invocation.withAction<{ readonly print?: boolean }>(command, async ([id = ""], options) => {
    const { host, terminal } = invocation;
    const url = pageAddress(serverAddress(options, host) ?? defaultServer, id);
    if (!options.print) openBrowser(url);
    terminal.printResult({ url }, () => [line`${url}`]);
    return 0;
  });
}

function pageAddress(server: string, id: string): string {
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol))
    throw invalidInput(`${server} is no address of a server; give it with --server`);
  const path = id.startsWith("run_") ? pagePaths.run(id) : id.startsWith("gate_") ? pagePaths.gate(id) : null;
  if (path === null) throw invalidInput(`${id} is no id of a run or a gate; see: writ runs, writ gates`);
  return new URL(path, server).href;
}

/** Opens the address with the program of the desktop. Without a shell, so that no character has a meaning. */
function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"];
  const opened = spawn(program as string, [...args, url], { stdio: "ignore", detached: true });
  // Without a desktop there is no such program. The address is printed in any case.
  opened.once("error", () => {});
  opened.unref();
}
