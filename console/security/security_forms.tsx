import type { ReactNode } from 'react';
import type { SecurityChanges, SecurityRow } from '../../server/api/security/schema.ts';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import type { Question } from '../form/question.tsx';
import type { Values } from '../form/values.ts';
import { etagOf } from '../http/reading.ts';
import { useDone } from '../page/section.tsx';
import { securityOf, securityPath } from './security.ts';
import { limitOf, linesOf } from './security_values.ts';

type Given = { organization_id: string; security: SecurityRow };

const accepted_hint =
  'Domains of other organizations on this server, one per line. Members who sign in through ' +
  'their providers reach this organization too.';
const ranges_hint =
  'In CIDR notation, one per line, such as 203.0.113.0/24. They apply to sessions and keys. ' +
  'If empty, every address is allowed.';

/** The form for single sign-on: who needs a provider, and which providers count. */
export function SignInForm(given: Given) {
  const { security } = given;
  return (
    <SecurityForm
      {...given}
      part="sign_in"
      button="Save single sign-on"
      body={(values) => ({
        requires_sso: isTicked(values, 'requires_sso'),
        provider_is_second_factor: isTicked(values, 'provider_is_second_factor'),
        accepted_providers: linesOf(String(values['accepted_providers'])),
      })}
      asks={(values) => lockoutOf(security, isTicked(values, 'requires_sso'))}
    >
      <BoxField
        name="requires_sso"
        label="Members sign in through your provider only"
        hint="This applies at once, to everybody who is not exempt below."
        is_on={security.requires_sso}
      />
      <BoxField
        name="provider_is_second_factor"
        label="The provider’s sign-in counts as a second factor"
        hint="For members who must use one. Sluice then does not ask for another second factor."
        is_on={security.provider_is_second_factor}
      />
      <LongField
        name="accepted_providers"
        label="Accepted providers"
        hint={accepted_hint}
        rows={3}
        defaultValue={security.accepted_providers.join('\n')}
      />
    </SecurityForm>
  );
}

const named_max = 5;

/** Returns the question before members are locked out; undefined if none are. */
function lockoutOf(security: SecurityRow, requires_sso: boolean): Question | undefined {
  const locked_out = security.outside_members.filter(({ is_exempt }) => !is_exempt);
  if (security.requires_sso || !requires_sso || locked_out.length === 0) return undefined;
  const count = `${locked_out.length} ${locked_out.length === 1 ? 'member' : 'members'}`;
  const named = locked_out.slice(0, named_max).map(({ email }) => email);
  const more = locked_out.length - named.length;
  const all = [...named, ...(more > 0 ? [`${more} more`] : [])];
  return {
    title: `Lock out ${count}?`,
    text:
      `No provider of yours vouches for ${new Intl.ListFormat('en-GB').format(all)}. ` +
      'First exempt those who should stay.',
    button: `Lock out ${count}`,
    keep: 'Back to the form',
  };
}

/** Sets the longest duration of members' sessions. */
export function LimitForm(given: Given) {
  const { session_hours_max, idle_minutes_max } = given.security;
  return (
    <SecurityForm
      {...given}
      part="limits"
      button="Save session limits"
      body={(values) => ({
        session_hours_max: limitOf(String(values['session_hours_max'])),
        idle_minutes_max: limitOf(String(values['idle_minutes_max'])),
      })}
    >
      <TextField
        name="session_hours_max"
        label="Longest session, in hours"
        hint="From 1 to 720. Empty: 30 days."
        value={String(session_hours_max ?? '')}
        inputMode="numeric"
      />
      <TextField
        name="idle_minutes_max"
        label="Longest idle time, in minutes"
        hint="From 5 to 10,080. Empty: 7 days."
        value={String(idle_minutes_max ?? '')}
        inputMode="numeric"
      />
    </SecurityForm>
  );
}

/** The form for the allowed networks. */
export function NetworkForm(given: Given) {
  return (
    <SecurityForm
      {...given}
      part="network"
      button="Save IP ranges"
      body={(values) => ({ allowed_ip_ranges: linesOf(String(values['allowed_ip_ranges'])) })}
    >
      <LongField
        name="allowed_ip_ranges"
        label="Allowed IP ranges"
        hint={ranges_hint}
        rows={4}
        defaultValue={given.security.allowed_ip_ranges.join('\n')}
      />
    </SecurityForm>
  );
}

function SecurityForm({
  organization_id,
  security,
  ...form
}: Given & {
  part: string;
  button: string;
  body: (values: Values) => SecurityChanges;
  asks?: (values: Values) => Question | undefined;
  children: ReactNode;
}) {
  const done = useDone();
  return (
    <Form
      {...form}
      method="PATCH"
      path={securityPath(organization_id)}
      if_match={etagOf(security)}
      done={() => done('Saved.', securityOf(organization_id))}
    />
  );
}
