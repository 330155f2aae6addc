import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AccountRow } from '../../server/api/users/schema.ts';
import { CodeField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { CopyButton } from '../page/copy_button.tsx';
import { Panel } from '../page/panel.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { account } from './account.ts';
import { PresentPassword } from './present_password.tsx';

const path = '/api/users/@me/totp/';

type Own = { own: AccountRow };
type Codes = { recovery_codes: string[] };

/**
 * The second factor: set it up, or have new recovery codes and remove it. Seed and codes are shown
 * once: the API never gives them again.
 */
export function SecondFactorSection({ own }: Own) {
  const [codes, showCodes] = useState<string[]>();
  return (
    <Section title="Second factor">
      {codes !== undefined && <RecoveryCodes codes={codes} />}
      {own.is_2fa_enabled ? (
        <SetUp own={own} showCodes={showCodes} />
      ) : (
        <NotSetUp own={own} showCodes={showCodes} />
      )}
    </Section>
  );
}

type WithCodes = Own & { showCodes: (codes: string[] | undefined) => void };

function NotSetUp({ own, showCodes }: WithCodes) {
  const done = useDone();
  const queries = useQueryClient();
  const [seed, setSeed] = useState<{ secret: string; otpauth_url: string }>();
  if (seed === undefined)
    return (
      <>
        <p>
          Off. With one, signing in with your password also takes a code of an authenticator app, so
          the password alone opens nothing.
        </p>
        <Form path={path} done={setSeed} button="Set up a second factor">
          <PresentPassword own={own} />
        </Form>
      </>
    );
  return (
    <Panel>
      <h3>Add Sluice to your authenticator app</h3>
      <p>
        On the device that has the app: <AppLink address={seed.otpauth_url} />. Or choose to enter a
        key there, and type this one:
      </p>
      <p>
        <code>{seed.secret.replaceAll(/.{4}(?=.)/g, '$& ')}</code>
      </p>
      <Form<Codes>
        path={`${path}confirm/`}
        done={async ({ recovery_codes }) => {
          showCodes(recovery_codes);
          await done('Your second factor is set up.', account);
          // Organizations that ask for one are open from now on.
          await queries.invalidateQueries();
        }}
        button="Switch it on"
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
  const { recovery_codes_left: left } = own;
  return (
    <>
      <p>
        On. You have {left} recovery {left === 1 ? 'code' : 'codes'} left.
      </p>
      <Seldom summary="Create new recovery codes">
        <p>The codes that you have no longer work then.</p>
        <Form<Codes>
          path="/api/users/@me/recovery_codes/"
          done={async ({ recovery_codes }) => {
            showCodes(recovery_codes);
            await done(
              'You have new recovery codes; the ones before them no longer work.',
              account,
            );
          }}
          button="Create new codes"
        >
          <PresentPassword own={own} />
          <CodeField label="Code" />
        </Form>
      </Seldom>
      <Seldom summary="Remove the second factor">
        <p>Organizations that ask for one are closed to you then.</p>
        <Form
          method="DELETE"
          path={path}
          done={async () => {
            showCodes(undefined);
            await done('Your second factor was removed.', account);
          }}
          button="Remove the second factor"
          tone="danger"
        >
          <PresentPassword own={own} />
          <CodeField label="Code" />
        </Form>
      </Seldom>
    </>
  );
}

function RecoveryCodes({ codes }: { codes: string[] }) {
  return (
    <Panel>
      <h3>Your recovery codes</h3>
      <p>
        Each signs in once in place of a code of your app. They are not shown again: keep them where
        you keep passwords.
      </p>
      <ol className="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <CopyButton text={codes.join('\n')} what="the codes" />
    </Panel>
  );
}
