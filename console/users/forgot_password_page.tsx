import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { Panel } from '../page/panel.tsx';
import { PlainPage } from '../page/page.tsx';
import { pathTo } from '../http/path.ts';

/** Requests a link to choose a new password. */
export function ForgotPasswordPage() {
  const [told, setTold] = useState<string>();
  return (
    <PlainPage title="Forgot your password?">
      <p>We mail you a link to choose a new one.</p>
      {told === undefined ? (
        <Form
          path={pathTo('/api/users/reset_password/')}
          body={({ email }) => ({ email })}
          done={({ detail }) => setTold(detail)}
          button="Mail me a link"
        >
          <TextField name="email" label="E-mail address" type="email" autoComplete="username" />
        </Form>
      ) : (
        <Panel>
          <p>{told}</p>
        </Panel>
      )}
      <p className="after_form">
        <Link to="/login">Back to sign-in</Link>
      </p>
    </PlainPage>
  );
}
