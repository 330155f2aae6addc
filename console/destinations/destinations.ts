import { useQuery } from '@tanstack/react-query';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';
import { inLabels } from './labels.ts';

/** Reads the destination types, with the schemas of their configs. */
export const destinationTypes = reading(pathTo('/api/destinations/'), { polls: false });

/** Gives a text of the API about a destination of the type, with the labels of its form. */
export function useInLabels(type: string): (text: string) => string {
  const found = useQuery(destinationTypes).data?.results.find((one) => one.type === type);
  return (text) => (found === undefined ? text : inLabels(found, text));
}

/** Gives the name of a destination type as people know it; its name in the API until it is read. */
export function useDestinationLabel(): (type: string) => string {
  const types = useQuery(destinationTypes).data?.results ?? [];
  return (type) => types.find((one) => one.type === type)?.label ?? type;
}
