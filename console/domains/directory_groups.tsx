import { Button } from '@mantine/core';
import { useState } from 'react';
import type { DirectoryRow, GroupRow } from '../../server/api/scim/schema.ts';
import { ChoiceField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { levelChoices, levelWord } from '../signed_in/member_words.ts';
import { useIsOwner } from '../signed_in/only_for.tsx';
import { Panel } from '../page/panel.tsx';
import { Rows } from '../page/tables/rows.tsx';
import { useDone } from '../page/section.tsx';
import { directoryOf } from './directory.ts';
import { pathTo } from '../http/path.ts';

type Given = { directory: DirectoryRow; organization_id: string; domain_id: string };

/** The groups that the directory has pushed, each with its level; nothing if there are none. */
export function DirectoryGroups(given: Given) {
  const { groups, group_count } = given.directory;
  const may_change = useIsOwner(given.organization_id);
  const [chosen_id, choose] = useState<string>();
  const chosen = groups.find(({ id }) => id === chosen_id);
  if (group_count === 0) return null;
  return (
    <>
      <h3>Its groups</h3>
      <p>{ruleOf(groups)}</p>
      {chosen !== undefined && (
        <Panel key={chosen.id}>
          <ChangeLevel {...given} group={chosen} changed={() => choose(undefined)} />
        </Panel>
      )}
      <Rows<GroupRow>
        rows={groups}
        keyOf={({ id }) => id}
        columns={{
          Group: ({ display_name }) => <bdi>{display_name}</bdi>,
          People: ({ member_count }) => member_count.toLocaleString('en'),
          'Its people are': ({ level }) =>
            level === null ? <span className="muted">not decided by it</span> : levelWord(level),
          ...(may_change && {
            Change: ({ id, display_name }) => (
              <Button size="compact-sm" onClick={() => choose(id)}>
                Level<span className="unseen"> of {display_name}</span>
              </Button>
            ),
          }),
        }}
      />
      {group_count > groups.length && (
        <p>
          The first {groups.length} of {group_count} by name are shown.
        </p>
      )}
    </>
  );
}

function ruleOf(groups: readonly GroupRow[]): string {
  return groups.every(({ level }) => level === null)
    ? 'Groups decide nothing until you give one a level.'
    : 'People of the directory get the highest level of their groups, or the level of a member. ' +
        'Owners stay owners.';
}

function ChangeLevel({
  directory,
  organization_id,
  domain_id,
  group: { id, display_name, level },
  changed,
}: Given & { group: GroupRow; changed: () => void }) {
  const done = useDone();
  const is_first = directory.groups.every((one) => one.level === null);
  return (
    <>
      <h3>
        <bdi>{display_name}</bdi>
      </h3>
      <Form
        method="PATCH"
        path={pathTo('/api/organizations/:organization_id/domains/:id/scim/groups/:group_id/', {
          organization_id,
          id: domain_id,
          group_id: id,
        })}
        body={({ level: wanted }) => ({ level: wanted === '' ? null : (Number(wanted) as 1 | 8) })}
        done={async () => {
          changed();
          await done(
            `The level of ${display_name} was saved.`,
            directoryOf(organization_id, domain_id),
          );
        }}
        button="Save the level"
        asks={({ level: wanted }) =>
          is_first && wanted !== ''
            ? {
                title: `Let ${display_name} decide levels?`,
                text:
                  'Groups will decide levels. People of the directory who are in no group of ' +
                  'administrators become members. Owners stay owners.',
                button: 'Let groups decide',
                keep: 'Leave levels as they are',
              }
            : undefined
        }
      >
        <ChoiceField
          name="level"
          label="Lowest level of its people"
          options={[{ value: '', label: 'No level from this group' }, ...levelChoices(8)]}
          value={level === null ? '' : String(level)}
        />
      </Form>
      <Button size="compact-sm" variant="subtle" mt="xs" onClick={changed}>
        Cancel
      </Button>
    </>
  );
}
