import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** Where an export can deliver to, with the schemas of the configs. */
export const destinationTypes = reading(pathTo('/api/destinations/'), { polls: false });
