import { use, useState } from 'react';
import { TyperContext, forgetKept, keep, keptName, readKept } from '../../form/kept.ts';

/** The files of a plugin: name -> text. */
export type Files = Record<string, string>;

/** Files in progress; `base` are the stored files that they started from. */
type Draft = { base: Files; files: Files };

const isSame = (one: Files, other: Files) =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([name, text]) => other[name] === text);

/**
 * The typed files, stored in this tab across reloads until they are saved or discarded.
 * `is_outdated`: other files were stored since.
 */
export function useDraft(plugin_id: number, stored: Files) {
  const name = keptName(use(TyperContext), `the code of plugin ${plugin_id}`);
  const [draft, setDraft] = useState<Draft | undefined>(() => readKept<Draft>(name));
  const files = draft?.files ?? stored;
  const is_changed = draft !== undefined && !isSame(draft.files, stored);
  return {
    files,
    is_changed,
    is_outdated: is_changed && !isSame(draft.base, stored),
    write: (next: Files) => {
      const changed = { base: draft?.base ?? stored, files: next };
      setDraft(changed);
      keep(name, changed);
    },
    forget: () => {
      setDraft(undefined);
      forgetKept(name);
    },
  };
}
