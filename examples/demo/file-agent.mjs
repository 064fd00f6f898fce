// An agent outside the server: it reaches Writ only by the HTTP API, with a key that may read and submit. It lowers a
// price, writes a log, and deletes the drafts. If the server dies, it repeats its request: the same id is the same call.
import { setTimeout as sleep } from "node:timers/promises";

/** Runs the agent to its end. `drafts` are the files to delete. `onOpened` gets the run. */
export async function runFileAgent(client, { session, drafts, onOpened }) {
  const open = () => client.openRun({ session, project: "price-list", title: "Lower the price of Gold" });
  onOpened((await untilReached(open)).run_id);
  const call = async (id, tool, input) => {
    for (;;) {
      const run = await untilReached(open);
      const [answer] = await untilReached(() => run.callTools([{ id, tool, input }], { waitMs: 20_000 }));
      if (!["held", "waiting", "in_doubt"].includes(answer.status)) return answer;
    }
  };
  const read = await call("read", "files.read", { path: "prices.md" });
  const price = Number(/Gold \| (\d+)/.exec(read.output.text)[1]);
  const [find, replace] = [`| Gold | ${price} |`, `| Gold | ${price - 11} |`];
  // One after the other: an approval covers the files as they were shown.
  const edit = await call("edit", "files.edit", { path: "prices.md", find, replace });
  if (edit.status === "succeeded")
    await call("log", "files.write", { path: "CHANGES.md", text: `# Changes\n\nGold costs ${price - 11}.\n` });
  for (const [index, path] of drafts.entries()) await call(`delete-${index}`, "files.delete", { path });
  await untilReached(async () => (await untilReached(open)).close());
}

/** Repeats a request until a server answers it. */
export async function untilReached(request) {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      const isTemporary = ["SERVER_UNREACHABLE", "ENGINE_CLOSED", "SESSION_BUSY"].includes(error.fault?.code);
      if (!isTemporary) throw error;
      await sleep(300);
    }
  }
}
