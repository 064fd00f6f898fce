import { expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/schema/define-tool.ts";
import { serveEngine } from "./server-fixture.ts";

it("the bytes of an output are read through the API", async () => {
  const bytes = new Uint8Array([0, 1, 2, 255]);
  const image = defineTool({
    name: "image.make",
    effect: "reads",
    input: z.object({}),
    output: {},
    run: async () => bytes as never,
  });
  const served = await serveEngine({ engine: { tools: [image] } });
  const person = served.client();
  const { step, run_id } = await person.call("image.make", {});
  const run = await person.run(run_id);
  expect(await run.blob(step.output as unknown as Parameters<typeof run.blob>[0])).toEqual(bytes);
  await served.close();
});
