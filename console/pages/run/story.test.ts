import { expect, it } from "vitest";
import { shortIds } from "./story.ts";

it.each([
  ["gate_01m7txrmgyvt996524g3ry14f3 holds send", "gate …g3ry14f3 holds send"],
  ["run_01m7txrmfd8e8szbj2184p9pvr accepted", "…184p9pvr accepted"],
  ["started by wrk_01m7tvjgx3tbm1xtpkwfs1cnhg", "started by worker …wfs1cnhg"],
  ["gate_short and run_x stay", "gate_short and run_x stay"],
])("the story says %s as %s", (text, short) => {
  expect(shortIds(text)).toBe(short);
});
