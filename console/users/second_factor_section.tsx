import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AccountRow } from '../../server/api/users/schema.ts';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { Panel } from '../page/panel.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { useShownPasskey } from '../passkeys/use_passkey.tsx';
import { account } from '../signed_in/account.ts';
import { FactorField } from '../passkeys/factor_field.tsx';
import { PresentPassword } from './present_password.tsx';
import { RecoveryCodes } from './recovery_codes.tsx';
import { pathTo } from '../http/path.ts';
import type { Answer } from '../http/path.ts';

const path = pathTo('/api/users/@me/totp/');

type Own = { own: AccountRow };

/**
 * The second factor: set up an app, create new recovery codes, or remove it. Seed and codes are
 * shown once: the API never returns them again.
 */
export function SecondFactorSection({ own }: Own) {
  const [codes, showCodes] = useState<string[]>();
  const both = { own, showCodes };
  return (
    <Section title="Second factor">
      {codes !== undefined && <RecoveryCodes codes={codes} />}
      {own.is_totp_enabled ? (
        <SetUp {...both} />
      ) : own.is_2fa_enabled ? (
        <ByPasskey {...both} />
      ) : (
        <>
          <p>
            Off. With a second factor, you sign in with your password and a code of an authenticator
            app, or with a passkey. The password alone is then not enough.
          </p>
          <SetUpForm {...both} />
        </>
      )}
    </Section>
  );
}

type WithCodes = Own & { showCodes: (codes: string[] | undefined) => void };

function ByPasskey({ own, showCodes }: WithCodes) {
  return (
    <>
      <p>
        On: your passkeys count as one. <CodesLeft own={own} />
      </p>
      <NewCodes own={own} showCodes={showCodes} />
      <Seldom summary="Set up an authenticator app as well">
        <SetUpForm own={own} showCodes={showCodes} />
      </Seldom>
    </>
  );
}

function SetUpForm({ own, showCodes }: WithCodes) {
  const done = useDone();
  const queries = useQueryClient();
  const shown = useShownPasskey();
  const [seed, setSeed] = useState<Answer<'POST', '/api/users/@me/totp/'>>();
  if (seed === undefined)
    return (
      <Form
        path={path}
        body={({ current_password, code }) => ({
          current_password,
          ...shown.factor(code),
        })}
        done={setSeed}
        button="Set up a second factor"
      >
        <PresentPassword own={own} />
        <FactorField own={own} shown={shown} />
      </Form>
    );
  return (
    <Panel>
      <h3>Add Sluice to your authenticator app</h3>
      <p>
        On the device that has the app: <AppLink address={seed.otpauth_url ?? ''} />. Or choose to
        enter this key:
      </p>
      <p>
        <code>{seed.secret?.replaceAll(/.{4}(?=.)/g, '$& ')}</code>
      </p>
      <Form
        path={pathTo('/api/users/@me/totp/confirm/')}
        body={({ code }) => ({ code })}
        done={async ({ recovery_codes }) => {
          showCodes(recovery_codes.length === 0 ? undefined : recovery_codes);
          await done('Your second factor is set up.', account);
          // Organizations that require a second factor are now open.
          await queries.invalidateQueries();
        }}
        button="Turn on second factor"
      >
        <TextField
          name="code"
          label="The six digits that the app shows"
          autoComplete="one-time-code"
          inputMode="numeric"
        />
      </Form>
    </Panel>
  );
}

function AppLink({ address }: { address: string }) {
  return address.startsWith('otpauth:') ? <a href={address}>open the app</a> : <>open the app</>;
}

function SetUp({ own, showCodes }: WithCodes) {
  const done = useDone();
  const shown = useShownPasskey();
  return (
    <>
      <p>
        On. <CodesLeft own={own} />
      </p>
      <NewCodes own={own} showCodes={showCodes} />
      <Seldom summary="Remove the second factor">
        <p>
          Your app then no longer signs you in. You cannot remove your last second factor while an
          organization requires one.
        </p>
        <Form
          method="DELETE"
          path={path}
          body={({ current_password, code }) => ({
            current_password,
            ...shown.factor(code),
          })}
          done={async () => {
            showCodes(undefined);
            await done('Your second factor was removed.', account);
          }}
          button="Remove the second factor"
          tone="danger"
        >
          <PresentPassword own={own} />
          <FactorField own={own} shown={shown} />
        </Form>
      </Seldom>
    </>
  );
}

function CodesLeft({ own: { recovery_codes_left: left } }: Own) {
  return `You have ${left} recovery ${left === 1 ? 'code' : 'codes'} left.`;
}

function NewCodes({ own, showCodes }: WithCodes) {
  const done = useDone();
  const shown = useShownPasskey();
  return (
    <Seldom summary="Create new recovery codes">
      <p>Your current codes then stop working.</p>
      <Form
        path={pathTo('/api/users/@me/recovery_codes/')}
        body={({ current_password, code }) => ({
          current_password,
          ...shown.factor(code),
        })}
        done={async ({ recovery_codes }) => {
          showCodes(recovery_codes);
          await done('You have new recovery codes. The old ones no longer work.', account);
        }}
        button="Create new codes"
      >
        <PresentPassword own={own} />
        <FactorField own={own} shown={shown} />
      </Form>
    </Seldom>
  );
}
