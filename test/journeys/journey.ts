import type { Walker } from './walker.ts';
import type { World } from './world.ts';

/** A way through the console that a person has a reason to go. */
export type Journey = { name: string; walk(world: World, walker: Walker): Promise<void> };
