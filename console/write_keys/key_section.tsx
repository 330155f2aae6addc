import { useQuery } from '@tanstack/react-query';
import type { ProjectRow } from '../../server/api/projects/schema.ts';
import type { WriteKeyRow } from '../../server/api/write_keys/schema.ts';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { RollForm } from '../form/roll_form.tsx';
import { OnlyFor, useIsAdministrator } from '../signed_in/only_for.tsx';
import { Command } from '../page/command.tsx';
import { CopyButton } from '../page/copy_button.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { now } from '../time/now.ts';
import { writeKeysOf, writeKeyPath } from './write_keys.ts';
import { pathTo } from '../http/path.ts';

const day_seconds = 86_400;
/** Apps that nobody updates live long. */
const overlaps: [number, string][] = [
  [0, 'no longer: it stops at once'],
  [day_seconds, 'for another day'],
  [7 * day_seconds, 'for another week'],
  [90 * day_seconds, 'for another 90 days'],
  [366 * day_seconds, 'for another 366 days'],
];

/**
 * Shows the keys with which SDKs send events: the project's token, and keys that can be revoked
 * separately.
 */
export function WriteKeySection({
  project: { id, api_token, organization },
}: {
  project: ProjectRow;
}) {
  const query = useQuery(writeKeysOf(id));
  const may_change = useIsAdministrator(organization);
  return (
    <Section title="Keys for sending events">
      <p>
        They only send events, so you may put them into public code. The first is the token of the
        project and cannot be revoked. Create a key for each site or app, to revoke it alone.
      </p>
      <Command text={api_token} what="the token" />
      <Shown query={query}>
        {({ count, results }) => (
          <>
            <ul className="records">
              {results.map((key) => (
                <Key key={key.id} project_id={id} write_key={key} may_change={may_change} />
              ))}
            </ul>
            {count > results.length && (
              <p>
                The newest {results.length} of {count} are shown.
              </p>
            )}
          </>
        )}
      </Shown>
      <OnlyFor organization_id={organization} what="can create, rotate and revoke keys">
        <Seldom summary="Create a key">
          <CreateKey project_id={id} />
        </Seldom>
      </OnlyFor>
    </Section>
  );
}

function CreateKey({ project_id }: { project_id: number }) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/projects/:project_id/write_keys/', { project_id })}
      body={({ name }) => ({ name })}
      done={() => done('The key was created.', writeKeysOf(project_id))}
      button="Create the key"
      clears
    >
      <TextField name="name" label="Where it is used" />
    </Form>
  );
}

type OneKey = { project_id: number; write_key: WriteKeyRow };

function Key({ project_id, write_key, may_change }: OneKey & { may_change: boolean }) {
  const { id, name, value, expires_at, managed_by } = write_key;
  const done = useDone();
  return (
    <li>
      <div>
        <p>
          <bdi>{name}</bdi>
        </p>
        <ManagedNote by={managed_by} />
        <p>
          <code className="long">{value}</code>
        </p>
        <CopyButton text={value} what={`the key ${name}`} />
        <Life write_key={write_key} />
        {may_change && <RenameKey project_id={project_id} write_key={write_key} />}
        {may_change && expires_at === null && (
          <RollForm
            path={pathTo('/api/projects/:project_id/write_keys/:id/roll/', { project_id, id })}
            name={name}
            overlaps={overlaps}
            usual_seconds={7 * day_seconds}
            rolled={() => done('The key was rotated.', writeKeysOf(project_id))}
          />
        )}
      </div>
      {may_change && (
        <Form
          method="DELETE"
          path={writeKeyPath(project_id, id)}
          done={() => done('The key was revoked.', writeKeysOf(project_id))}
          button="Revoke"
          about={`the key ${name}`}
          tone="danger"
          asks={() => ({
            title: `Revoke the key “${name}”?`,
            text: 'Events with this key are refused at once. You cannot restore it.',
            button: 'Revoke the key',
            keep: 'Keep the key',
          })}
        />
      )}
    </li>
  );
}

/** Shows when the key was created, how long it works, and when it was used. */
function Life({ write_key }: Pick<OneKey, 'write_key'>) {
  const { created_at, expires_at, last_used_at } = write_key;
  const has_ended = expires_at !== null && Date.parse(expires_at) <= now();
  return (
    <p className="muted">
      Created <Instant at={created_at} />,{' '}
      {expires_at === null ? (
        'works until it is revoked'
      ) : (
        <>
          {has_ended ? 'worked' : 'was replaced, and works'} until{' '}
          <Instant at={expires_at} is_exact />
        </>
      )}
      ,{' '}
      {last_used_at === null ? (
        'never used'
      ) : (
        <>
          last used <Instant at={last_used_at} />
        </>
      )}
    </p>
  );
}

function RenameKey({ project_id, write_key: { id, name } }: OneKey) {
  const done = useDone();
  return (
    <Seldom summary="Rename it">
      <Form
        method="PATCH"
        path={writeKeyPath(project_id, id)}
        body={({ name: wanted }) => ({ name: wanted })}
        done={() => done('The key was renamed.', writeKeysOf(project_id))}
        button="Rename"
        about={`the key ${name}`}
      >
        <TextField name="name" label="Where it is used" value={name} />
      </Form>
    </Seldom>
  );
}
