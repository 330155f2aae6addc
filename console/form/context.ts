import { createContext, useContext, useEffect } from 'react';
import type { Violation } from '../../server/platform/http/errors.ts';
import { faultOf } from './faults.ts';

/** What the fields of a form know of it. */
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
export const not_kept = 'It was typed, and is not kept: enter it again.';

/** Said of a file that was chosen before a reload. */
export const file_not_kept = 'A file was chosen, and is not kept: choose it again.';

/** Whether the forms around are looked at alone: who is signed in may not send them. */
export const LookOnlyContext = createContext(false);

/**
 * Makes the field the place where what is wrong with `name` is shown, and gives that: a sentence,
 * or false. What a reload has lost is asked for again, in the words of `lost_words`.
 */
export function useFault(name: string, lost_words = not_kept): string | false {
  const { violations, fields, lost } = useContext(FormContext);
  useEffect(() => {
    fields.add(name);
    return () => void fields.delete(name);
  }, [fields, name]);
  return faultOf(violations, fields, name) || (lost.includes(name) && lost_words);
}
