export { client, type WhoAmI, type WritClient } from "./client/client.ts";
export type { ClientOptions } from "./client/http-caller.ts";
export type { RemoteSession } from "./client/remote-session.ts";
export type { ApiScope } from "./http-api/api-route.ts";
