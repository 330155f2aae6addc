import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** Reads the destination types, with the schemas of their configs. */
export const destinationTypes = reading(pathTo('/api/destinations/'), { polls: false });
