import type { DestinationDefinition } from '../destination.ts';
import { file } from './file/file.ts';
import { noop } from './noop/noop.ts';
import { postgres } from './postgres/postgres.ts';

/** Every destination that an export can have, one line each. */
export const destinations: readonly DestinationDefinition[] = [
  file,
  postgres,
  noop,
];

/** The destination of a type's name as it is written in `destination.type`, or undefined when there is none. */
export function findDestination(type: string): DestinationDefinition | undefined {
  return destinations.find((destination) => destination.type === type);
}
