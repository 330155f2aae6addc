import { createContext, useContext, useEffect } from 'react';
import type { Violation } from '../../server/platform/http/errors.ts';
import { faultOf } from './faults.ts';

/** What the fields of a form know of it. */
export type FormState = { violations: readonly Violation[]; fields: Set<string> };

/** The form around a field. */
export const FormContext = createContext<FormState>({ violations: [], fields: new Set() });

/** Whether the forms around are looked at alone: who is signed in may not send them. */
export const LookOnlyContext = createContext(false);

/**
 * Makes the field the place where what is wrong with `name` is shown, and gives that: a sentence,
 * or false.
 */
export function useFault(name: string): string | false {
  const { violations, fields } = useContext(FormContext);
  useEffect(() => {
    fields.add(name);
    return () => void fields.delete(name);
  }, [fields, name]);
  return faultOf(violations, fields, name) || false;
}
