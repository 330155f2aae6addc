import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import type { SessionRow } from '../../server/api/sessions/schema.ts';
import type { AccountRow } from '../../server/api/users/schema.ts';
import { PasswordField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { Panel } from '../page/panel.tsx';
import { useShownPasskey } from '../passkeys/use_passkey.tsx';
import { provider_names } from '../single_sign_on/provider_names.ts';
import { FactorField } from '../passkeys/factor_field.tsx';
import { current_session } from '../signed_in/sessions.ts';
import { pathTo } from '../http/path.ts';

type Given = {
  own: AccountRow;
  session: SessionRow;
  /** Called after the server has accepted it. */
  done: () => unknown;
  /** Elements beside its button. */
  beside?: ReactNode;
};

/**
 * Asks for the account's own factors: password, code, or both, or a passkey alone. The operator's
 * provider replaces the password beside a code. An account with neither gets a link by mail.
 */
export function ConfirmForm({ own, session, done, beside }: Given) {
  const { email, has_password, is_2fa_enabled } = own;
  const queries = useQueryClient();
  const shown = useShownPasskey();
  if (!has_password && !is_2fa_enabled) return <MailLink beside={beside} />;
  const is_vouched = is_2fa_enabled && isOfOperator(session);
  return (
    <Form
      path={pathTo('/api/sessions/@current/confirm/')}
      body={({ password, code }) => {
        const factor = shown.factor(code);
        return factor.passkey === undefined ? { password, ...factor } : factor;
      }}
      done={(confirmed) => {
        queries.setQueryData(current_session.queryKey, confirmed);
        return done();
      }}
      button="Confirm"
      part={null}
      beside={beside}
    >
      {has_password && !is_vouched && (
        <>
          <input type="email" autoComplete="username" value={email} readOnly hidden />
          <PasswordField name="password" label="Your password" />
        </>
      )}
      <FactorField own={own} shown={shown} />
    </Form>
  );
}

/**
 * Returns true if a provider of this server's operator opened the session, not one of an
 * organization.
 */
function isOfOperator({ method }: SessionRow): boolean {
  return method !== 'saml' && method in provider_names;
}

function MailLink({ beside }: Pick<Given, 'beside'>) {
  const [mailed_to, setMailedTo] = useState<string>();
  if (mailed_to !== undefined)
    return (
      <>
        <Panel>
          <p>
            The link is on its way to <bdi>{mailed_to}</bdi>. Open it, choose a password, and sign
            in with it.
          </p>
        </Panel>
        <div className="answers">{beside}</div>
      </>
    );
  return (
    <>
      <p>
        Your account has no password and no second factor yet. Open the link that we mail to you,
        choose a password, and sign in with it.
      </p>
      <Form
        path={pathTo('/api/users/@me/reset_password/')}
        done={({ email }) => setMailedTo(email)}
        button="Mail me a link"
        beside={beside}
      />
    </>
  );
}
