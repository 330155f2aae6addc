import { Link, getRouteApi } from '@tanstack/react-router';
import { PasswordField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { PlainPage } from '../page/page.tsx';
import { PasskeySignIn } from '../passkeys/passkey_sign_in.tsx';
import { AnyProvider } from '../single_sign_on/any_provider.tsx';
import { SecondStep, useSecondStep } from './second_step.tsx';
import { useEnter } from './enter.ts';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/login');

/** Signs in with a password and the second factor, with a passkey, or through a provider. */
export function LoginPage() {
  const { next, ended } = route.useSearch();
  const step = useSecondStep();
  const enter = useEnter();
  return (
    <PlainPage title="Sign in">
      {ended === 1 ? (
        <p>
          Your session has ended. It expired, or you were signed out or removed. Sign in to
          continue.
        </p>
      ) : (
        next !== undefined && next !== '/' && <p>Sign in to continue.</p>
      )}
      <Form
        path={pathTo('/api/sessions/')}
        body={({ email, password, code }) => ({ email, password, ...step.shown.factor(code) })}
        done={() => enter(next)}
        refused={step.refused}
        button="Sign in"
      >
        <TextField
          name="email"
          label="E-mail address"
          type="email"
          autoComplete="username webauthn"
        />
        <PasswordField name="password" label="Password" />
        <SecondStep step={step} />
      </Form>
      <p className="after_form">
        <Link to="/forgot-password">Forgot your password?</Link>
      </p>
      <PasskeySignIn done={() => enter(next)} />
      <AnyProvider next={next} />
    </PlainPage>
  );
}
