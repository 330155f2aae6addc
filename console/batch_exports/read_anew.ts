import { useQueryClient } from '@tanstack/react-query';

/** Reads anew all that is on the screen of the export with this path, after a change. */
export function useReadAnew(path: string): () => Promise<void> {
  const queries = useQueryClient();
  return () =>
    queries.invalidateQueries({
      predicate: ({ queryKey: [key] }) => typeof key === 'string' && key.startsWith(path),
    });
}
