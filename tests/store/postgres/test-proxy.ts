import { onTestFinished } from "vitest";
import { type CuttingProxy, startCuttingProxy } from "./cutting-proxy.ts";

/** Starts a proxy that ends with the test. */
export async function startTestProxy(url: string): Promise<CuttingProxy> {
  const proxy = await startCuttingProxy(url);
  onTestFinished(proxy.end);
  return proxy;
}
