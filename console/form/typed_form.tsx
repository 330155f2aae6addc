import type { ReactNode } from 'react';
import type { Problem } from '../http/problem.ts';
import { Form } from './form.tsx';

/**
 * Something grave that cannot be taken back: a button that says what follows, and sends it once the
 * name of what it is done to was typed.
 */
export function TypedForm({
  name,
  text,
  method = 'DELETE',
  body = () => undefined,
  ...given
}: {
  /** What has to be typed. */
  name: string;
  /** What follows, with what is lost by number. */
  text: ReactNode;
  method?: 'DELETE' | 'POST';
  body?: () => unknown;
  path: string;
  if_match?: string | undefined;
  done: (answer: never) => unknown;
  refused?: (problem: Problem) => boolean;
  button: string;
  about?: string;
}) {
  return (
    <Form
      {...given}
      method={method}
      body={body}
      tone="danger"
      asks={() => ({
        title: `${given.button}?`,
        text,
        button: given.button,
        keep: 'Leave it as it is',
        typed: name,
      })}
    />
  );
}
