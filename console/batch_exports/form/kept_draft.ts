import { useContext, useEffect, useState } from 'react';
import { TyperContext, forgetKept, keep, keptName, readKept } from '../../form/kept.ts';
import type { Base, Draft } from './draft.ts';
import { draftOf } from './draft.ts';

/** A form under way: what it began with, its version, and what was typed. */
type Kept = { base: Base | undefined; etag: string | undefined; draft: Draft };

/**
 * A form's draft, which outlives a reload and a restart of the server: this tab keeps it until it
 * is forgotten, secrets left out. A form that was begun goes on from what it began with, so that a
 * change which somebody else made meanwhile is refused and not undone.
 */
export function useKeptDraft(
  form: string,
  base: Base | undefined,
  etag: string | undefined,
  secret_keys: (type: string) => string[],
) {
  const name = keptName(useContext(TyperContext), form);
  const [kept, setKept] = useState<Kept>(
    () => readKept<Kept>(name) ?? { base, etag, draft: draftOf(base) },
  );
  const [is_touched, setTouched] = useState(() => readKept(name) !== undefined);
  useEffect(() => {
    if (is_touched) keep(name, withoutSecrets(kept, secret_keys));
  }, [name, kept, is_touched, secret_keys]);
  const is_same = isSame(kept.base, base);
  return {
    ...kept,
    // What moves by itself, such as the next run, is no change by somebody else.
    etag: is_same ? etag : kept.etag,
    is_touched,
    change: (changes: Partial<Draft>) => {
      setTouched(true);
      setKept((before) => ({ ...before, draft: { ...before.draft, ...changes } }));
    },
    type: (key: string, value: string | boolean | null) => {
      setTouched(true);
      setKept((before) => {
        const typed = { ...before.draft.typed, [key]: value };
        return { ...before, draft: { ...before.draft, typed } };
      });
    },
    forget: () => {
      setTouched(false);
      forgetKept(name);
    },
  };
}

function isSame(one: Base | undefined, other: Base | undefined): boolean {
  const texts = [one, other].map((base) =>
    JSON.stringify([draftOf(base), base?.destination.config ?? null]),
  );
  return texts[0] === texts[1];
}

function withoutSecrets(kept: Kept, secret_keys: (type: string) => string[]): Kept {
  const secrets = new Set(secret_keys(kept.draft.type));
  const typed = Object.fromEntries(
    Object.entries(kept.draft.typed).filter(([key, value]) => !secrets.has(key) || value === null),
  );
  return { ...kept, draft: { ...kept.draft, typed } };
}
