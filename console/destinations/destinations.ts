import type { DestinationType } from '../../server/api/destinations/schema.ts';
import { reading } from '../http/reading.ts';

/** Where an export can deliver to, with the schemas of the configs. */
export const destinationTypes = reading<{ count: number; results: DestinationType[] }>(
  '/api/destinations/',
  { polls: false },
);
