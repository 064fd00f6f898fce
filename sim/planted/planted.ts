import { acting } from "./acting.ts";
import { calling } from "./calling.ts";
import { fencing } from "./fencing.ts";
import { governing } from "./governing.ts";
import { halting } from "./halting.ts";
import { limiting } from "./limiting.ts";
import type { Planted } from "./plant.ts";
import { stating } from "./stating.ts";
import { voting } from "./voting.ts";

export const planted: readonly Planted[] = [
  ...acting,
  ...calling,
  ...fencing,
  ...governing,
  ...halting,
  ...limiting,
  ...stating,
  ...voting,
];
