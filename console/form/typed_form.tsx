import { useState } from 'react';
import type { Problem } from '../http/problem.ts';
import { TextField } from './fields.tsx';
import { Form } from './form.tsx';

/**
 * Something that cannot be taken back: sent once the name of what it is done to was typed. It says
 * so at the field where another text stands there.
 */
export function TypedForm({
  name,
  ...given
}: {
  /** What has to be typed. */
  name: string;
  path: string;
  if_match?: string | undefined;
  done: () => unknown;
  refused?: (problem: Problem) => boolean;
  button: string;
}) {
  const [fault, setFault] = useState<string>();
  return (
    <Form
      {...given}
      method="DELETE"
      tone="danger"
      body={() => ({})}
      confirm={({ typed }) => {
        const is_same = typed === name;
        setFault(is_same ? undefined : `Type “${name}” exactly as it is written.`);
        return is_same;
      }}
    >
      <p>
        To confirm, type <strong className="typed">{name}</strong>.
      </p>
      <TextField name="typed" label="Name" autoComplete="off" inputMode="text" fault={fault} />
    </Form>
  );
}
