import { useEffect, useState } from 'react';
import type { PluginTryOutResult } from '../../../server/api/plugin_configs/try_out/schema.ts';
import { ask } from '../../http/ask.ts';
import { pathTo } from '../../http/path.ts';
import type { Problem } from '../../http/problem.ts';
import type { Collection } from '../plugins.ts';
import type { Files } from './draft.ts';

/** Pause in typing after which the code is checked. */
const pause_ms = 700;

/** The path that tries code in a project. */
export function tryOutPath(project_id: string, query?: { validate_only: boolean }) {
  return pathTo('/api/projects/:project_id/plugin_configs/try_out/', { project_id }, query);
}

/** The server's check of the files: their settings and tasks, or their faults. */
export type Checked =
  | { files: Files; seen: PluginTryOutResult; problem?: undefined }
  | { files: Files; seen?: undefined; problem: Problem };

/**
 * Lets the server compile and check the files after each pause in typing. Returns the latest
 * answer, undefined before the first; drops answers about older files.
 */
export function useCheck(
  project_id: string,
  collection: Collection,
  files: Files,
  is_on: boolean,
): Checked | undefined {
  const [checked, setChecked] = useState<Checked>();
  const text = JSON.stringify(files);
  useEffect(() => {
    if (!is_on) return undefined;
    const ending = new AbortController();
    const check = async () => {
      const source = JSON.parse(text) as Files;
      const outcome = await ask('POST', tryOutPath(project_id, { validate_only: true }), {
        body: { collection, source },
        signal: ending.signal,
      });
      setChecked(
        outcome.ok
          ? { files: source, seen: outcome.body }
          : { files: source, problem: outcome.problem },
      );
    };
    // It only throws an abort.
    const timer = setTimeout(() => void check().catch(() => undefined), pause_ms);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [project_id, collection, text, is_on]);
  return checked;
}
