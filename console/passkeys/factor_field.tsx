import type { AccountRow } from '../../server/api/users/schema.ts';
import { CodeField } from '../form/fields.tsx';
import { UsePasskey } from './use_passkey.tsx';
import type { ShownPasskey } from './use_passkey.tsx';

/** The second factor, if the account has one: a code, or a passkey instead. */
export function FactorField({ own, shown }: { own: AccountRow; shown: ShownPasskey }) {
  if (!own.is_2fa_enabled) return undefined;
  return (
    <>
      <CodeField
        label={own.is_totp_enabled ? 'Code' : 'Recovery code'}
        is_of_recovery={!own.is_totp_enabled}
      />
      {own.passkey_count > 0 && <UsePasskey shown={shown} />}
    </>
  );
}
