import { useQuery } from '@tanstack/react-query';
import type { SecurityRow } from '../../server/api/security/schema.ts';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf } from '../http/reading.ts';
import { memberPath } from '../members/members.ts';
import { useIsOwner } from '../signed_in/only_for.tsx';
import { Rows } from '../page/tables/rows.tsx';
import { useDone } from '../page/section.tsx';
import { account } from '../signed_in/account.ts';
import { securityOf, securityPath } from './security.ts';
import type { OutsideMember } from './security.ts';

type Given = { organization_id: string; security: SecurityRow };

/** The members outside of the organization's providers, each with its actions. */
export function OutsideMembers(given: Given) {
  const { outside_members, requires_sso } = given.security;
  const may_change = useIsOwner(given.organization_id);
  const { data: own } = useQuery(account);
  if (outside_members.length === 0)
    return <p>Your providers vouch for the addresses of all members.</p>;
  return (
    <>
      <p>
        No provider of yours vouches for the addresses of these members.{' '}
        {requires_sso
          ? 'They are locked out unless you exempt them.'
          : 'Single sign-on for all would lock them out unless you exempt them.'}
      </p>
      <Rows<OutsideMember>
        rows={outside_members}
        keyOf={({ uuid }) => uuid}
        columns={{
          Member: {
            long: ({ email, uuid }) => (
              <>
                <bdi>{email}</bdi>
                {uuid === own?.uuid && <span className="muted"> (you)</span>}
              </>
            ),
          },
          Access: (member) => <Access member={member} requires_sso={requires_sso} />,
          ...(may_change && {
            Change: (member) => (
              <div className="toolbar">
                <Exempt {...given} member={member} />
                {member.uuid !== own?.uuid && <Remove {...given} member={member} />}
              </div>
            ),
          }),
        }}
      />
    </>
  );
}

function Access({ member, requires_sso }: { member: OutsideMember; requires_sso: boolean }) {
  if (member.is_exempt) return <span className="good">Exempt</span>;
  return requires_sso ? <span className="bad">Locked out</span> : <>Any sign-in</>;
}

type OfMember = Given & { member: OutsideMember };

function Exempt({ organization_id, security, member }: OfMember) {
  const { uuid, email, is_exempt } = member;
  const done = useDone();
  const others = security.exempt_members.filter((one) => one !== uuid);
  return (
    <Form
      method="PATCH"
      path={securityPath(organization_id)}
      if_match={etagOf(security)}
      body={() => ({ exempt_members: is_exempt ? others : [...others, uuid] })}
      done={() =>
        done(
          is_exempt ? `${email} is no longer exempt.` : `${email} is exempt.`,
          securityOf(organization_id),
        )
      }
      button={is_exempt ? 'End exemption' : 'Exempt'}
      about={is_exempt ? `of ${email}` : email}
      tone="plain"
      part={uuid}
    />
  );
}

function Remove({ organization_id, member: { uuid, email } }: OfMember) {
  const done = useDone();
  return (
    <TypedForm
      name={email}
      title={`Remove ${email}?`}
      text="Their keys and sessions stop working here at once. Everything that they created stays."
      path={memberPath(organization_id, uuid)}
      done={() => done(`${email} was removed.`, securityOf(organization_id))}
      button="Remove"
      about={email}
    />
  );
}
