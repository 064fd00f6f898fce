import { acting } from "./acting.ts";
import { calling } from "./calling.ts";
import { fencing } from "./fencing.ts";
import { governing } from "./governing.ts";
import { limiting } from "./limiting.ts";
import type { Planted } from "./plant.ts";
import { stating } from "./stating.ts";

export const planted: readonly Planted[] = [...acting, ...calling, ...fencing, ...governing, ...limiting, ...stating];
