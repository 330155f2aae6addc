import type { Walker } from './walker.ts';
import type { World } from './world.ts';

/** A path through the console for which a person has a reason. */
export type Journey = { name: string; walk(world: World, walker: Walker): Promise<void> };
