/** Yields the data of each server-sent event in a text. An event that the end of the text cuts off counts, too. */
export function* parseEventStream(text: string): Iterable<string> {
  let data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/u)) {
    if (line === "") {
      if (data.length > 0) yield data.join("\n");
      data = [];
    } else if (line.startsWith("data:")) {
      data.push(line.slice(line[5] === " " ? 6 : 5));
    }
  }
  if (data.length > 0) yield data.join("\n");
}
