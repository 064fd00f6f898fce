import { FaultError, fault } from "../core/values/fault.ts";
import { peerProblem } from "../core/values/peer-package.ts";
import { installedPackageProblem } from "../peer-packages/installed-package-problem.ts";

/** Loads the server side of the MCP SDK, which is an optional dependency. */
export function loadServerSdk(): Promise<typeof import("@modelcontextprotocol/server")> {
  return load("@modelcontextprotocol/server", () => import("@modelcontextprotocol/server"));
}

export function loadServerStdio(): Promise<typeof import("@modelcontextprotocol/server/stdio")> {
  return load("@modelcontextprotocol/server", () => import("@modelcontextprotocol/server/stdio"));
}

/** Loads the client side of the MCP SDK. */
export function loadClientSdk(): Promise<typeof import("@modelcontextprotocol/client")> {
  return load("@modelcontextprotocol/client", () => import("@modelcontextprotocol/client"));
}

export function loadClientStdio(): Promise<typeof import("@modelcontextprotocol/client/stdio")> {
  return load("@modelcontextprotocol/client", () => import("@modelcontextprotocol/client/stdio"));
}

async function load<Module>(name: string, from: () => Promise<Module>): Promise<Module> {
  const peer = { name, tested: ["2"] };
  const problem = installedPackageProblem(peer, "MCP");
  if (problem !== null) throw new FaultError(fault("CONFIG_INVALID", problem));
  try {
    return await from();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    const message = peerProblem(peer, null, "MCP");
    throw new FaultError(fault("CONFIG_INVALID", message ?? name), { cause: error });
  }
}
