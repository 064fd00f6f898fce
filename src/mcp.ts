export type { McpToolSettings } from "./mcp/define-mcp-tool.ts";
export type {
  CommonServerConfig,
  EnvironmentValue,
  HttpServerConfig,
  ProcessServerConfig,
  ServerConfig,
} from "./mcp/gateway-config.ts";
export type { GatewayHttpOptions } from "./mcp/gateway-http.ts";
export { type McpGateway, type McpGatewayOptions, mcpGateway } from "./mcp/mcp-gateway.ts";
export type {
  McpClient,
  McpProgress,
  McpRequestOptions,
  McpToolDefinition,
  McpToolResult,
} from "./mcp/mcp-protocol.ts";
export { type McpServer, type McpServerOptions, mcpServer, type StdioStreams } from "./mcp/mcp-server.ts";
export { type McpToolsOptions, mcpTools } from "./mcp/mcp-tools.ts";
export { mcpPinSlice } from "./mcp/tool-pins.ts";
