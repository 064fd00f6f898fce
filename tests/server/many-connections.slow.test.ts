import { execFileSync } from "node:child_process";
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { client } from "../../src/client/client.ts";
import { CliProject } from "../cli/cli-project.ts";

const connections = 10_000;
const atOnce = 500;
/** The files that a process of this machine may open. The server inherits the limit. */
const openFiles = execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }).trim();
const hasFiles = openFiles === "unlimited" || Number(openFiles) > connections + 1000;
if (!hasFiles)
  process.stderr.write(
    "\nSKIPPED: 10,000 idle connections, because this process may open too few files. Raise ulimit -n.\n\n",
  );

/** Opens a connection that has asked once and is idle since. */
function idleConnection(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", reject).once("data", () => resolve(socket));
    socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  });
}

it.skipIf(!hasFiles)("a server with 10,000 idle connections serves others", async () => {
  const site = new CliProject();
  const { answer } = await site.json("keys", "add", "bot", "--scope", "submit", "--scope", "read");
  const server = site.start("serve", "--port", "0");
  const [, url = ""] = await server.until(/serving (http:\S+);/);
  const port = Number(new URL(url).port);
  const sockets: Socket[] = [];
  while (sockets.length < connections)
    sockets.push(...(await Promise.all(Array.from({ length: atOnce }, () => idleConnection(port)))));
  const bot = client({ url, token: String(answer.key) });
  expect((await bot.call("mail.write", { to: "ana@example.org" })).result.status).toBe("completed");
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  server.kill("SIGTERM");
  expect((await server.ended).exit).toBe(0);
  for (const socket of sockets) socket.destroy();
  await site.clear();
});
