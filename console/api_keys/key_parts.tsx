import { ChoiceField, TextField } from '../form/fields.tsx';
import { CopyButton } from '../page/copy_button.tsx';
import { Panel } from '../page/panel.tsx';
import { Instant } from '../time/instant.tsx';
import { inDays } from '../time/now.ts';

/** Times for which a rotated key keeps working, with their words. */
export const overlaps: [number, string][] = [
  [0, 'no longer: it stops at once'],
  [3_600, 'for another hour'],
  [86_400, 'for another day'],
  [604_800, 'for another week'],
];

/** Returns the typed addresses and networks, separated by spaces or commas. */
export function rangesOf(typed: string | string[] | undefined = ''): string[] {
  return [typed]
    .flat()
    .join(' ')
    .split(/[\s,]+/)
    .filter((range) => range !== '');
}

/** Returns the end of a key that works for some days; null if it works until it is revoked. */
export function expiryOf(days = ''): string | null {
  return days === '' ? null : inDays(days);
}

/** Fields for the allowed addresses of a key, and its lifetime. */
export function BoundFields({ days, choices }: { days: string; choices: [string, string][] }) {
  const options = [...choices, ['', 'until it is revoked'] as const];
  return (
    <>
      <TextField
        name="allowed_ip_ranges"
        label="Only from these addresses (if empty, from anywhere)"
        hint="Addresses and networks, such as 203.0.113.0/24, separated by spaces."
        is_optional
      />
      <ChoiceField
        name="expires_at"
        label="How long it works"
        value={days}
        options={options.map(([value, label]) => ({ value, label }))}
      />
    </>
  );
}

/** The key itself, which the API returns only once. */
export function CreatedKey({ title, name, value }: { title: string; name: string; value: string }) {
  return (
    <Panel>
      <h3>
        {title} “<bdi>{name}</bdi>”
      </h3>
      <p>
        <code>{value}</code>
      </p>
      <p>It is shown once. Keep it in your password manager.</p>
      <CopyButton text={value} what="the key" />
    </Panel>
  );
}

type Used = {
  last_used_at: string | null;
  last_used_ip: string | null;
  last_used_user_agent: string | null;
};

/** The last use of a key, with address and client; as a sentence or for a column. */
export function LastUse({ api_key, is_column = false }: { api_key: Used; is_column?: boolean }) {
  const { last_used_at, last_used_ip, last_used_user_agent } = api_key;
  if (last_used_at === null) return is_column ? 'Never' : 'never used';
  return (
    <>
      {!is_column && 'last used '}
      <Instant at={last_used_at} />
      {last_used_ip !== null && ` from ${last_used_ip}`}
      {last_used_user_agent !== null && last_used_user_agent !== '' && (
        <>
          {' '}
          by <bdi className="long">{last_used_user_agent}</bdi>
        </>
      )}
    </>
  );
}
