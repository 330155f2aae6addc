import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { PasskeyRow } from '../../server/api/passkeys/schema.ts';
import type { AccountRow } from '../../server/api/users/schema.ts';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { ask } from '../http/ask.ts';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { browserOf } from '../sessions/browser_name.ts';
import { Instant } from '../time/instant.tsx';
import { account } from '../signed_in/account.ts';
import { FactorField } from '../passkeys/factor_field.tsx';
import { PresentPassword } from './present_password.tsx';
import { RecoveryCodes } from './recovery_codes.tsx';
import { createPasskey } from '../passkeys/ceremony.ts';
import { passkeys } from '../passkeys/passkeys.ts';
import { useShownPasskey } from '../passkeys/use_passkey.tsx';
import { pathTo } from '../http/path.ts';

type Own = { own: AccountRow };

/** The passkeys of the account: add, rename, remove. */
export function PasskeySection({ own }: Own) {
  const query = useQuery(passkeys);
  const [codes, showCodes] = useState<string[]>([]);
  return (
    <Section title="Passkeys">
      {codes.length > 0 && <RecoveryCodes codes={codes} />}
      <Shown query={query}>
        {({ count, results }) => (
          <>
            {count === 0 && (
              <p>
                You have no passkey. A passkey signs you in with the lock of your device
                (fingerprint, face or PIN) or a security key. You need no password. It also counts
                as a second factor.
              </p>
            )}
            <ul className="records">
              {results.map((passkey) => (
                <Passkey key={passkey.id} own={own} passkey={passkey} />
              ))}
            </ul>
            <Seldom summary="Add a passkey">
              <Add own={own} showCodes={showCodes} />
            </Seldom>
          </>
        )}
      </Shown>
    </Section>
  );
}

function Add({ own, showCodes }: Own & { showCodes: (codes: string[]) => void }) {
  const done = useDone();
  const queries = useQueryClient();
  const shown = useShownPasskey();
  return (
    <Form
      path={pathTo('/api/users/@me/passkeys/begin/')}
      body={({ current_password, code }) => ({ current_password, ...shown.factor(code) })}
      done={async (options, { name }) => {
        const body = { name: String(name), passkey: await createPasskey(options) };
        const outcome = await ask('POST', pathTo('/api/users/@me/passkeys/'), { body });
        if (!outcome.ok) throw outcome.problem;
        showCodes(outcome.body.recovery_codes);
        await done('The passkey was added.', account, passkeys);
        // Organizations that require a second factor are now open.
        await queries.invalidateQueries();
      }}
      button="Add passkey"
      clears
    >
      <TextField
        name="name"
        label="Name"
        hint="A name for the device, so that you recognize the passkey."
        value={browserOf(navigator.userAgent)}
      />
      <PresentPassword own={own} />
      <FactorField own={own} shown={shown} />
    </Form>
  );
}

function Passkey({ own, passkey }: Own & { passkey: PasskeyRow }) {
  const { id, name, is_backed_up, created_at, last_used_at } = passkey;
  return (
    <li>
      <div>
        <p>
          <bdi>{name}</bdi>
        </p>
        <p className="muted">
          Added <Instant at={created_at} />,{' '}
          {last_used_at === null ? (
            'never used'
          ) : (
            <>
              last used <Instant at={last_used_at} />
            </>
          )}
          {is_backed_up && ', copied to your other devices'}
        </p>
        <Seldom summary="Rename">
          <Rename passkey={passkey} />
        </Seldom>
        <Seldom summary="Remove">
          <Remove own={own} id={id} name={name} />
        </Seldom>
      </div>
    </li>
  );
}

function Rename({ passkey: { id, name } }: { passkey: PasskeyRow }) {
  const done = useDone();
  return (
    <Form
      method="PATCH"
      path={pathTo('/api/users/@me/passkeys/:id/', { id })}
      body={({ name: wanted }) => ({ name: wanted })}
      done={() => done('The passkey was renamed.', passkeys)}
      button="Rename passkey"
      about={name}
    >
      <TextField name="name" label="Name" value={name} />
    </Form>
  );
}

function Remove({ own, id, name }: Own & { id: string; name: string }) {
  const done = useDone();
  const shown = useShownPasskey();
  return (
    <>
      <p>The passkey then no longer signs you in. Remove it from your device too.</p>
      <Form
        method="DELETE"
        path={pathTo('/api/users/@me/passkeys/:id/', { id })}
        body={({ current_password, code }) => ({
          current_password,
          ...shown.factor(code),
        })}
        done={() => done('The passkey was removed.', account, passkeys)}
        button="Remove passkey"
        about={name}
        tone="danger"
      >
        <PresentPassword own={own} />
        <FactorField own={own} shown={shown} />
      </Form>
    </>
  );
}
