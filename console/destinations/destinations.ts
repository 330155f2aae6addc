import { useQuery } from '@tanstack/react-query';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** Reads the destination types, with the schemas of their configs. */
export const destinationTypes = reading(pathTo('/api/destinations/'), { polls: false });

/** Gives the name of a destination type as people know it; its name in the API until it is read. */
export function useDestinationLabel(): (type: string) => string {
  const types = useQuery(destinationTypes).data?.results ?? [];
  return (type) => types.find((one) => one.type === type)?.label ?? type;
}
