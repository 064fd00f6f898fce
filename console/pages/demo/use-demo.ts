import { useEffect } from "preact/hooks";
import { type ServerValue, useServerValue } from "../../live/use-server-value.ts";
import { readDemo } from "./demo-api.ts";
import type { DemoState } from "./demo-state.ts";

const pollMs = 1000;

/** The state of the demo, read again every second: the world outside of Writ sends no hints. */
export function useDemo(): ServerValue<DemoState> {
  const demo = useServerValue("demo", readDemo, { follows: () => true });
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) void demo.reload();
    }, pollMs);
    return () => clearInterval(timer);
  }, [demo.reload]);
  return demo;
}
