import { useContext, useEffect, useState } from 'react';
import { TyperContext, forgetKept, keep, keptName, readKept } from '../../form/kept.ts';
import type { OthersChange } from '../../form/others_change.ts';
import { ZoneContext } from '../../time/instant.tsx';
import type { Base, Draft } from './draft.ts';
import { draftOf } from './draft.ts';
import { draftOver, othersChangeOf } from './draft_over.ts';
import { lostAfter, withoutSecrets } from './lost_secrets.ts';
import type { Typing } from './lost_secrets.ts';

/** An open form: its base, its version, and the typed values. */
type Kept = Typing & { base: Base | undefined; etag: string | undefined };

/**
 * A form's draft, which survives a reload and a server restart: this tab stores it until it is
 * discarded; of secrets, only their names. A started form keeps its base, so that a concurrent
 * change by others leads to a refusal and is not overwritten.
 */
export function useKeptDraft(
  form: string,
  base: Base | undefined,
  etag: string | undefined,
  secret_keys: (type: string) => string[],
  /** The first values of a new form, such as the copied export's values. */
  prefilled?: Draft,
) {
  const zone = useContext(ZoneContext);
  const name = keptName(useContext(TyperContext), form);
  const [kept, setKept] = useState<Kept>(
    () => readKept<Kept>(name) ?? { base, etag, draft: prefilled ?? draftOf(base, zone), lost: [] },
  );
  const [is_restored, setRestored] = useState(() => readKept(name) !== undefined);
  const [is_touched, setTouched] = useState(is_restored);
  useEffect(() => {
    const secrets = secret_keys(kept.draft.type);
    if (is_touched) keep(name, { ...kept, ...withoutSecrets(kept, secrets) });
  }, [name, kept, is_touched, secret_keys]);
  const is_same = isSame(kept.base, base);
  // An untouched form shows the stored values, also after a change by others.
  if (!is_touched && !is_same) setKept({ base, etag, draft: draftOf(base, zone), lost: [] });
  return {
    ...kept,
    // A field that changes automatically, such as the next run, is no change by others.
    etag: is_same ? etag : kept.etag,
    is_touched,
    /** True if it shows values typed earlier. */
    is_restored,
    change: (changes: Partial<Draft>) => {
      setTouched(true);
      setKept((before) => ({
        ...before,
        draft: { ...before.draft, ...changes },
        lost: lostAfter(before, changes),
      }));
    },
    type: (key: string, value: string | boolean | null) => {
      setTouched(true);
      setKept((before) => {
        const typed = { ...before.draft.typed, [key]: value };
        const lost = lostAfter(before, { typed: { [key]: value } });
        return { ...before, draft: { ...before.draft, typed }, lost };
      });
    },
    /** Bases the draft on the currently stored values, with the typed values on top. */
    takeUp: (): OthersChange => {
      setKept({ ...kept, base, etag, draft: draftOver(kept.draft, kept.base, base, zone) });
      return othersChangeOf(kept.draft, kept.base, base, zone);
    },
    forget: () => {
      setTouched(false);
      setRestored(false);
      forgetKept(name);
    },
  };
}

function isSame(one: Base | undefined, other: Base | undefined): boolean {
  const texts = [one, other].map((base) =>
    JSON.stringify([draftOf(base, 'UTC'), base?.destination.config ?? null]),
  );
  return texts[0] === texts[1];
}
