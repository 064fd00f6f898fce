import type { VNode } from "preact";
import { textParts } from "./hidden-characters.ts";

/**
 * Shows a text of others exactly: hidden characters by their code, and with its own direction, so that it cannot reorder
 * what is around it.
 */
export function SafeText({ text }: { readonly text: string }): VNode {
  return (
    <bdi>
      {textParts(text).map((part) =>
        part.is === "plain" ? (
          part.text
        ) : (
          <span class="hidden-character" title={part.name}>
            {part.code}
          </span>
        ),
      )}
    </bdi>
  );
}
