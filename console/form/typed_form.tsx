import type { ReactNode } from 'react';
import type { Answer, Path, Route } from '../http/path.ts';
import type { Problem } from '../http/problem.ts';
import { Form } from './form.tsx';

/**
 * Something grave that cannot be taken back: a button that says what follows, and deletes it once
 * the name of what it is done to was typed.
 */
export function TypedForm<To extends Route<'DELETE'>>({
  name,
  title,
  text,
  ...given
}: {
  /** The text to type. */
  name: string;
  /** The question, where the button does not name what it is about. */
  title?: string;
  /** The consequence, with the loss in numbers. */
  text: ReactNode;
  path: Path<To>;
  if_match?: string | undefined;
  done: (answer: Answer<'DELETE', To>) => unknown;
  refused?: (problem: Problem) => boolean;
  button: string;
  about?: string;
}) {
  return (
    <Form
      {...given}
      method="DELETE"
      tone="danger"
      asks={() => ({
        title: title ?? `${given.button}?`,
        text,
        button: given.button,
        keep: 'Cancel',
        typed: name,
      })}
    />
  );
}
