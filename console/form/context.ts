import { createContext, useContext, useEffect } from 'react';
import type { Violation } from '../../server/platform/http/errors.ts';
import { faultOf } from './faults.ts';

/** The form's state for its fields. */
export type FormState = {
  violations: readonly Violation[];
  fields: Set<string>;
  /** Fields with a secret that was typed, or a file that was chosen, before a reload. */
  lost: readonly string[];
};

/** The form around a field. */
export const FormContext = createContext<FormState>({
  violations: [],
  fields: new Set(),
  lost: [],
});

/** Text for a secret that was typed before a reload. */
export const not_kept = 'Your entry was not kept. Enter it again.';

/** Text for a file that was chosen before a reload. */
export const file_not_kept = 'Your file was not kept. Choose it again.';

/** True if the surrounding forms are read-only, because the signed-in person may not send them. */
export const LookOnlyContext = createContext(false);

/**
 * Shows faults of `name` at the field, and returns its fault: a sentence, or false. After a reload,
 * asks again for lost values, with the text `lost_words`.
 */
export function useFault(
  name: string,
  lost_words = not_kept,
  wordsOf?: (violation: Violation) => string,
): string | false {
  const { violations, fields, lost } = useContext(FormContext);
  useEffect(() => {
    fields.add(name);
    return () => void fields.delete(name);
  }, [fields, name]);
  return faultOf(violations, fields, name, wordsOf) || (lost.includes(name) && lost_words);
}
