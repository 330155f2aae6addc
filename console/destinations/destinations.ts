import { useQuery } from '@tanstack/react-query';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';
import { inLabels } from './labels.ts';

/** Reads the destination types, with the schemas of their configs. */
export const destinationTypes = reading(pathTo('/api/destinations/'), { polls: false });

/**
 * Returns a function that puts the form's labels into an API text about a destination of the type.
 */
export function useInLabels(type: string): (text: string) => string {
  const found = useQuery(destinationTypes).data?.results.find((one) => one.type === type);
  return (text) => (found === undefined ? text : inLabels(found, text));
}

/**
 * Returns a function that gives a destination type's label; its API name until the labels were
 * read.
 */
export function useDestinationLabel(): (type: string) => string {
  const types = useQuery(destinationTypes).data?.results ?? [];
  return (type) => types.find((one) => one.type === type)?.label ?? type;
}
