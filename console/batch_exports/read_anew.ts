import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { Path } from '../http/path.ts';

/** Reads anew all that is on the screen of the export with this path, after a change. */
export function useReadAnew(path: Path): () => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    () =>
      queries.invalidateQueries({
        predicate: ({ queryKey: [key] }) => typeof key === 'string' && key.startsWith(path),
      }),
    [queries, path],
  );
}
