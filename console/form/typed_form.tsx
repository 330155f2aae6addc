import type { ReactNode } from 'react';
import type { Answer, Path, Route } from '../http/path.ts';
import type { Problem } from '../http/problem.ts';
import { Form } from './form.tsx';

/**
 * A destructive action: its button states the consequence, and deletes the object after its name
 * was typed.
 */
export function TypedForm<To extends Route<'DELETE'>>({
  name,
  title,
  text,
  ...given
}: {
  /** The text to type. */
  name: string;
  /** The question, if the button does not name the object. */
  title?: string;
  /** The consequence, with numbers. */
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
