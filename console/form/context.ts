import { createContext, useContext, useEffect } from 'react';
import type { Violation } from '../../server/platform/http/errors.ts';
import { faultOf } from './faults.ts';

/** The form's state for its fields. */
export type FormState = {
  violations: readonly Violation[];
  fields: Set<string>;
  /** The fields with a secret that was typed, or a file that was chosen, before a reload. */
  lost: readonly string[];
};

/** The form around a field. */
export const FormContext = createContext<FormState>({
  violations: [],
  fields: new Set(),
  lost: [],
});

/** Said of a secret that was typed before a reload. */
export const not_kept = 'Your entry was not kept. Enter it again.';

/** Said of a file that was chosen before a reload. */
export const file_not_kept = 'Your file was not kept. Choose it again.';

/** True if the surrounding forms are read-only: the signed-in person may not send them. */
export const LookOnlyContext = createContext(false);

/**
 * Makes the field the place for faults of `name`, and returns the fault: a sentence, or false. Asks
 * again for values that a reload has lost, in the words of `lost_words`.
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
