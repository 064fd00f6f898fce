import type { Scenario } from "./scenario.ts";
import { askTool } from "./scenario-tools.ts";

/** Returns a scenario of two dependent calls that are not acts; a recorded answer is not requested again. */
export function nonActScenario(effect: "pure" | "reads" | "writes", about: string): Scenario {
  return {
    about,
    tools: (world) => [askTool(world, "page.ask", effect)],
    steps: [
      { step_id: "ask", name: "page.ask", payload: { to: "the page" } },
      {
        step_id: "more",
        name: "page.ask",
        payload: { to: "more" },
        bindings: { "/body": { step: "ask", path: "/sent" } },
        outcome: { type: "page.answer", status: "draft" },
      },
    ],
    acts: {},
    calls: ["the page", "more"].map((to) => ({ did: "page.ask", to })),
    endStatuses: ["completed"],
    settlesAllDoubts: true,
  };
}
