import type { Server, ServerContext } from "@modelcontextprotocol/server";

/** The extension of the revision 2026-07-28. A client that names it accepts a task as an answer. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** Clients of the revision 2026-07-28 describe themselves in every request. */
function envelopeField({ mcpReq }: ServerContext, name: string): object | undefined {
  const value = (mcpReq.envelope as Readonly<Record<string, unknown>> | undefined)?.[`io.modelcontextprotocol/${name}`];
  return typeof value === "object" && value !== null ? value : undefined;
}

/** True if the client speaks the revision 2026-07-28. */
export function isOfNewRevision({ mcpReq }: ServerContext): boolean {
  return mcpReq.envelope !== undefined;
}

/** True if the client can ask its user to confirm a call. */
export function canElicit(server: Server, context: ServerContext): boolean {
  const declared = envelopeField(context, "clientCapabilities") ?? server.getClientCapabilities();
  return declared !== undefined && "elicitation" in declared && declared.elicitation !== undefined;
}

/** True if the client takes a task for an answer. It says so in each request. */
export function takesTasks(context: ServerContext): boolean {
  const declared = envelopeField(context, "clientCapabilities") as { readonly extensions?: object } | undefined;
  return declared?.extensions !== undefined && TASKS_EXTENSION in declared.extensions;
}

/** Returns the client as it names itself. */
export function clientName(server: Server, context: ServerContext): string {
  const declared = envelopeField(context, "clientInfo") ?? server.getClientVersion();
  const name = declared !== undefined && "name" in declared ? declared.name : undefined;
  const plain = typeof name === "string" ? name.replaceAll(/[^\x21-\x7e]+/g, " ").trim() : "";
  return plain.slice(0, 100) || "unknown client";
}
