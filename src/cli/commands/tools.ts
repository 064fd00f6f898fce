import { Command } from "commander";
import { guaranteeOf } from "../../core/guarantee.ts";
import { Toolbox } from "../../engine/road/toolbox.ts";
import { cel } from "../../expression/cel.ts";
import { example, type Invocation } from "../invocation.ts";
import { line, tableLines } from "../line.ts";
import { configWithTools } from "../opening.ts";

export function toolsCommand(invocation: Invocation): Command {
  const command = new Command("tools")
    .description("list the config's tools and what each can be relied on for")
    .addHelpText("after", example("writ tools", "writ tools --json"));
  return invocation.does(command, async (_, options) => {
    const config = await configWithTools(options, invocation.host.cwd);
    const tools = new Toolbox(config.tools, cel).all().map((tool) => {
      const { name, version, effect, risk } = tool;
      return { name, version, effect, risk, guarantee: guaranteeOf(tool) };
    });
    invocation.terminal.answer({ tools }, () => {
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
