import { useEffect, useRef, useState } from 'react';
import { CodeField } from '../form/fields.tsx';
import type { Problem } from '../http/problem.ts';
import { UsePasskey, useShownPasskey } from '../passkeys/use_passkey.tsx';
import type { ShownPasskey } from '../passkeys/use_passkey.tsx';

/**
 * The state of the second step: whether the API asked for a factor, and the number of failed tries.
 */
export type Step = {
  asked: number;
  refused: (problem: Problem) => boolean;
  shown: ShownPasskey;
};

/** The second step of a sign-in, after the API asks for a second factor. */
export function useSecondStep(): Step {
  const [asked, setAsked] = useState(0);
  const shown = useShownPasskey();
  return {
    asked,
    shown,
    refused: ({ code }) => {
      const is_asking = code === 'second_factor_required';
      if (is_asking) setAsked((before) => before + 1);
      return is_asking;
    },
  };
}

/** The field for the code, which gets the focus when asked for, or a passkey instead. */
export function SecondStep({ step: { asked, shown } }: { step: Step }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (asked > 0) place.current?.querySelector('input')?.focus();
  }, [asked]);
  if (asked === 0) return undefined;
  return (
    <div ref={place}>
      <CodeField
        label="Code of your second factor"
        fault={asked > 1 ? 'Fill in the code.' : undefined}
      />
      <UsePasskey shown={shown} />
    </div>
  );
}
