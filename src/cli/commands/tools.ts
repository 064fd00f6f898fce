import { Command } from "commander";
import { toolGuaranteeText } from "../../core/tool/tool-guarantee-text.ts";
import { ToolRegistry } from "../../engine/call/tool-registry.ts";
import { cel } from "../../expression/cel.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line, tableLines } from "../safe-line.ts";
import { loadConfigWithTools } from "../with-engine.ts";

export function toolsCommand(invocation: Invocation): Command {
  const command = new Command("tools")
    .description("list the config's tools and the guarantee of each")
    .addHelpText("after", helpExample("writ tools", "writ tools --json"));
  return invocation.withAction(command, async (_, options) => {
    const config = await loadConfigWithTools(options, invocation.host.cwd);
    const tools = new ToolRegistry(config.tools, cel).callable.all().map((tool) => {
      const { name, version, effect, risk } = tool;
      return { name, version, effect, risk, guarantee: toolGuaranteeText(tool) };
    });
    invocation.terminal.printResult({ tools }, () => {
      if (tools.length === 0) return [line`there are no tools in ${config.path}`];
      return tableLines(
        tools.map(({ name, version, effect, risk, guarantee }) => [
          line`${name}@${version}`,
          line`${effect}`,
          line`${risk} risk`,
          line`${guarantee}`,
        ]),
      );
    });
    return 0;
  });
}
