import { acting } from "./acting.ts";
import { fencing } from "./fencing.ts";
import { governing } from "./governing.ts";
import type { Planted } from "./plant.ts";

export const planted: readonly Planted[] = [...acting, ...fencing, ...governing];
