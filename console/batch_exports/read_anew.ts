import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { Path } from '../http/path.ts';

/** Reads all visible data of the export with this path again, after a change. */
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
