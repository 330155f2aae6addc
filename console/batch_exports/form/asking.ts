import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type {
  DestinationTest,
  ExportPreview,
} from '../../../server/api/batch_exports/drafts/schema.ts';
import { askForChange } from '../../http/change.ts';
import type { Path } from '../../http/path.ts';
import type { Problem } from '../../http/problem.ts';
import { shown_keys } from './draft.ts';
import type { NewExport } from './draft.ts';

type Exports = '/api/projects/:project_id/batch_exports/';
/** The path of a form's test. */
export type TestPath = Path<`${Exports}test/` | `${Exports}:id/test/`>;
/** The path of the preview of the first rows. */
export type PreviewPath = Path<`${Exports}preview/` | `${Exports}:id/preview/`>;

/** Time without a change after which the rows are requested. */
const calm_ms = 700;

/** Returns the part of a form's content that affects tests and previews, as one text. */
export function triedOf(body: NewExport): string {
  const { name: _, interval: __, start_at: ___, end_at: ____, ...tried } = body;
  return JSON.stringify(tried);
}

/** The connection test of a form: what was tested last, and the result. */
export function useTest(path: TestPath, if_match: string | undefined) {
  const queries = useQueryClient();
  return useMutation<DestinationTest, Problem, NewExport>({
    mutationFn: async (body) => {
      const outcome = await askForChange(queries, 'POST', path, { body, if_match }, shown_keys);
      if (!outcome.ok) throw outcome.problem;
      return outcome.body;
    },
  });
}

/** The first rows of a form with their content, or why there are none. */
export type Live = { of: string; preview?: ExportPreview; problem?: Problem };

/**
 * The first rows of the form, requested again after a change and a pause in typing; undefined until
 * the form is complete. The earlier rows stay until the new ones arrive.
 */
export function useLivePreview(
  path: PreviewPath,
  body: NewExport | undefined,
  if_match: string | undefined,
): Live | undefined {
  const queries = useQueryClient();
  const [live, setLive] = useState<Live>();
  const latest = useRef({ body, if_match });
  useEffect(() => {
    latest.current = { body, if_match };
  });
  const wanted = body === undefined ? undefined : triedOf(body);
  useEffect(() => {
    if (wanted === undefined) return undefined;
    let is_wanted = true;
    const ask = async () => {
      const { body: asked, ...sent } = latest.current;
      if (asked === undefined) return;
      const outcome = await askForChange(
        queries,
        'POST',
        path,
        { ...sent, body: asked },
        shown_keys,
      );
      if (!is_wanted) return;
      setLive((before) =>
        outcome.ok
          ? { of: wanted, preview: outcome.body }
          : { ...before, of: wanted, problem: outcome.problem },
      );
    };
    const timer = setTimeout(() => void ask(), calm_ms);
    return () => {
      is_wanted = false;
      clearTimeout(timer);
    };
  }, [wanted, path, queries]);
  return body === undefined ? undefined : (live ?? { of: '' });
}
