import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { PasswordField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { ask } from '../http/ask.ts';
import { Waiting } from '../page/shown.tsx';
import { SecondStep, useSecondStep } from '../sessions/second_step.tsx';
import { useKeptTheme } from '../shell/sign_out.ts';
import { ProviderLink } from '../single_sign_on/provider_link.tsx';
import { providersFor } from '../single_sign_on/providers.ts';
import { useEnterJoined } from './enter_joined.ts';
import { acceptPath } from './invite.ts';
import type { Invite } from './invite.ts';
import { pathTo } from '../http/path.ts';

type Visit = { invite: Invite; token: string | undefined; email: string | undefined };

/**
 * The one matching way to join: directly, if the invite is for the signed-in account; after signing
 * out, if it is for another; after signing in; or by signing up.
 */
export function WayIn(visit: Visit) {
  const { invite, email } = visit;
  if (email === undefined) return <SignedOut {...visit} />;
  return email.toLowerCase() === invite.target_email.toLowerCase() ? (
    <Join {...visit} />
  ) : (
    <SignOut {...visit} />
  );
}

function Join({ invite, token }: Visit) {
  const enter = useEnterJoined();
  return (
    <Form
      path={acceptPath(invite.id)}
      body={() => ({ token })}
      done={(accepted) => enter(accepted)}
      button="Join"
    />
  );
}

function SignOut({ invite: { target_email }, email }: Visit) {
  const queries = useQueryClient();
  const keepTheme = useKeptTheme();
  return (
    <>
      <p>
        You are signed in as <bdi>{email}</bdi>. Sign out to join as <bdi>{target_email}</bdi>.
      </p>
      <Form
        method="DELETE"
        path={pathTo('/api/sessions/:id/', { id: '@current' })}
        done={() => {
          keepTheme();
          return queries.resetQueries();
        }}
        button="Sign out"
      />
    </>
  );
}

function SignedOut(visit: Visit) {
  const { invite } = visit;
  const { data, error } = useQuery(providersFor(invite.target_email));
  if (data === undefined && error === null) return <Waiting />;
  // The provider then proves the address, so the token is not needed.
  const links = (data?.providers ?? []).map((provider) => (
    <ProviderLink
      key={provider}
      provider={provider}
      email={invite.target_email}
      next={`/invite/${invite.id}`}
    />
  ));
  if (data?.is_enforced === true)
    return (
      <>
        <p>The domain of this address requires single sign-on.</p>
        <div className="ways">{links}</div>
      </>
    );
  return (
    <>
      {invite.has_account ? <SignIn {...visit} /> : <SignUp {...visit} />}
      {links.length > 0 && <div className="ways">{links}</div>}
    </>
  );
}

function SignIn({ invite, token }: Visit) {
  const step = useSecondStep();
  const enter = useEnterJoined();
  return (
    <>
      <p>This address has an account. Sign in with it.</p>
      <Form
        path={pathTo('/api/sessions/')}
        done={async () => {
          const outcome = await ask('POST', acceptPath(invite.id), { body: { token } });
          if (!outcome.ok) throw outcome.problem;
          await enter(outcome.body);
        }}
        body={({ email, password, code }) => ({ email, password, ...step.shown.factor(code) })}
        refused={step.refused}
        button="Sign in and join"
      >
        <Address invite={invite} />
        <PasswordField name="password" label="Password" />
        <SecondStep step={step} />
      </Form>
      <p className="after_form">
        <Link to="/forgot-password">Forgot your password?</Link>
      </p>
    </>
  );
}

function SignUp({ invite, token }: Visit) {
  const enter = useEnterJoined();
  return (
    <Form
      path={acceptPath(invite.id)}
      body={({ first_name, last_name, password }) => ({ first_name, last_name, password, token })}
      done={(accepted) => enter(accepted)}
      button="Sign up and join"
    >
      <Address invite={invite} />
      <TextField
        name="first_name"
        label="First name"
        value={invite.first_name}
        autoComplete="given-name"
      />
      <TextField name="last_name" label="Last name" autoComplete="family-name" />
      <PasswordField name="password" label="Password" is_new />
    </Form>
  );
}

function Address({ invite }: { invite: Invite }) {
  return (
    <TextField
      name="email"
      label="E-mail address"
      type="email"
      value={invite.target_email}
      autoComplete="username"
      is_fixed
    />
  );
}
