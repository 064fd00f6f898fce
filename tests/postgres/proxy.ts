import { onTestFinished } from "vitest";
import { openPassage, type Passage } from "./passage.ts";

/** A passage that is there until the test is over. */
export async function proxyTo(url: string): Promise<Passage> {
  const passage = await openPassage(url);
  onTestFinished(passage.end);
  return passage;
}
