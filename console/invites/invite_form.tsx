import { Button } from '@mantine/core';
import { useState } from 'react';
import type { InviteWithLink } from '../../server/api/invites/schema.ts';
import type { Level } from '../../server/api/members/schema.ts';
import type { OrganizationRow } from '../../server/api/organizations/schema.ts';
import { ChoiceField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import { levelChoices, levelOf } from '../signed_in/member_words.ts';
import { Panel } from '../page/panel.tsx';
import { counted } from '../page/text/quantities.ts';
import { useDone } from '../page/section.tsx';
import { addressesIn, refusedAmong } from './addresses.ts';
import type { Refused } from './addresses.ts';
import { invites } from './invites.ts';
import { pathTo } from '../http/path.ts';

/**
 * Invites up to a thousand people at once. The API accepts all or none: each refused address is
 * listed with its reason, and a button leaves them out.
 */
export function InviteForm({
  organization: { id, membership_level },
  page,
  created,
}: {
  organization: OrganizationRow;
  page: number;
  created: (invites: InviteWithLink[]) => void;
}) {
  const done = useDone();
  const [text, setText] = useState('');
  const [refused, setRefused] = useState<Refused[]>([]);
  // Each refusal is announced again, because the pressed button has lost the focus.
  const [turn, setTurn] = useState(0);
  const addresses = addressesIn(text);
  return (
    <>
      {refused.length > 0 && (
        <NotInvited
          key={turn}
          refused={refused}
          leaveOut={() => {
            const left_out = new Set(refused.map(({ address }) => address));
            setText(addresses.filter((address) => !left_out.has(address)).join('\n'));
            setRefused([]);
          }}
        />
      )}
      <Form
        path={pathTo('/api/organizations/:organization_id/invites/bulk/', { organization_id: id })}
        body={({ level, message }) => ({
          invites: addresses.map((target_email) => ({
            target_email,
            level: levelOf(level),
            message: message === undefined ? null : String(message),
          })),
        })}
        done={async ({ count, results }) => {
          setText('');
          setRefused([]);
          await done(`${counted(count, 'invite')} created.`, invites(id, page));
          created(results);
        }}
        refused={({ violations }) => {
          const found = refusedAmong(addresses, violations) ?? [];
          setRefused(found);
          setTurn(turn + 1);
          return found.length > 0;
        }}
        discarded={() => setText('')}
        button={addresses.length > 1 ? `Invite ${addresses.length} people` : 'Invite'}
      >
        <Fields text={text} setText={setText} level={membership_level} />
      </Form>
    </>
  );
}

function Fields({
  text,
  setText,
  level,
}: {
  text: string;
  setText: (text: string) => void;
  /** Level of the inviting person. */
  level: Level;
}) {
  return (
    <>
      <LongField
        name="invites"
        label="Addresses"
        hint="Paste up to 1,000 addresses, separated by lines, commas or spaces."
        rows={5}
        value={text}
        onChange={setText}
      />
      <ChoiceField name="level" label="Level" options={levelChoices(level)} value="1" />
      <LongField
        name="message"
        label="Message"
        hint="Optional text for the mail, beside the link."
        rows={3}
        length_max={2000}
        is_optional
      />
    </>
  );
}

function NotInvited({ refused, leaveOut }: { refused: Refused[]; leaveOut: () => void }) {
  return (
    <Panel>
      <h3>Nobody was invited yet</h3>
      <p>{refused.length === 1 ? 'This one' : `These ${refused.length}`} cannot be invited:</p>
      <ul className="records">
        {refused.map(({ address, detail }) => (
          <li key={`${address} ${detail}`}>
            <div>
              <p>
                <bdi>{address}</bdi>
              </p>
              <p className="bad">{detail}</p>
            </div>
          </li>
        ))}
      </ul>
      <Button onClick={leaveOut}>Leave {refused.length === 1 ? 'it' : 'them'} out</Button>
    </Panel>
  );
}
