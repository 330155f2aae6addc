import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { NoticeTargetRow } from '../../server/api/notice_targets/schema.ts';
import { batchExports } from '../batch_exports/batch_exports.ts';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { ChoicesField, SecretField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { Page } from '../page/page.tsx';
import { Section, useDone } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { event_choices, nameOf, noticeTargetOf, targetPath, type_names } from './notice_targets.ts';
import { Instant } from '../time/instant.tsx';
import { Deliveries } from './deliveries.tsx';
import { TargetState } from './target_state.tsx';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/signed_in/projects/$project_id/notices/$target_id');
type Given = { target: NoticeTargetRow; project_id: string };

/** One target of notices: its settings, a test, and its deletion. */
export function TargetPage() {
  const { project_id, target_id } = route.useParams();
  const read = noticeTargetOf(project_id, target_id);
  const query = useQuery(read);
  const title = query.data === undefined ? 'Notices' : nameOf(query.data);
  const missing = (
    <NoSuch noun="target of notices">
      <Link to="/projects/$project_id/notices" params={{ project_id }}>
        Notice targets of this project
      </Link>
    </NoSuch>
  );
  return (
    <Page title={title} request={pathOf(read)}>
      <Shown query={query} missing={missing}>
        {(target) => {
          const given = { target, project_id };
          return (
            <>
              <p>
                {type_names[target.type]}
                {target.name !== null && (
                  <>
                    {' to '}
                    <code>{target.address ?? target.url}</code>
                  </>
                )}
                . <TargetState target={target} />
              </p>
              <ManagedNote by={target.managed_by} />
              <AsYaml kind="notice_target" id={target.id} />
              <Section title="Test">
                <Try {...given} />
              </Section>
              <Section title="Deliveries" is_wide>
                <Deliveries project_id={project_id} target_id={target.id} />
              </Section>
              <Section title="Settings">
                <Change {...given} />
              </Section>
              <Section title="Deletion">
                <Delete {...given} />
              </Section>
            </>
          );
        }}
      </Shown>
    </Page>
  );
}

/** Sends a test; the latest result stays. */
function Try({ target, project_id }: Given) {
  const done = useDone();
  const { id, last_test } = target;
  return (
    <>
      {last_test !== null && (
        <p>
          <span className={last_test.is_delivered ? 'good' : 'bad'}>
            {last_test.is_delivered
              ? 'The target accepted the test.'
              : 'The target did not accept the test.'}
          </span>{' '}
          {last_test.detail} <Instant at={last_test.at} />
        </p>
      )}
      <Form
        path={pathTo('/api/projects/:project_id/notice_targets/:id/test/', { project_id, id })}
        done={() => done('', noticeTargetOf(project_id, id))}
        button="Send test notice"
        tone="plain"
      />
    </>
  );
}

function Change({ target, project_id }: Given) {
  const { id, name, events, enabled, batch_export_ids } = target;
  const done = useDone();
  const { data } = useQuery(batchExports(project_id, 1));
  const known = data?.results ?? [];
  // Only the newest of very many exports are shown; the selection of others stays.
  const unseen = (batch_export_ids ?? []).filter((one) => !known.some((row) => row.id === one));
  return (
    <Form
      key={data === undefined ? 'waiting' : 'known'}
      method="PATCH"
      path={targetPath(project_id, id)}
      if_match={etagOf(target)}
      body={({ batch_export_ids: ticked, enabled: box, ...sent }) => {
        const ids = [...unseen, ...[ticked ?? []].flat()];
        return {
          address: sent.address,
          url: sent.url,
          secret: sent.secret,
          events: sent.events,
          name: sent.name === '' ? null : sent.name,
          enabled: isTicked({ enabled: box ?? [] }, 'enabled'),
          ...(data === undefined ? {} : { batch_export_ids: ids.length === 0 ? null : ids }),
        };
      }}
      done={() => done('The target was saved.', noticeTargetOf(project_id, id))}
      button="Save the target"
    >
      <TextField name="name" label="Name (optional)" value={name ?? ''} />
      <PlaceFields target={target} />
      <BoxField name="enabled" label="Notices are sent" is_on={enabled} />
      <ChoicesField name="events" label="Notify when" options={event_choices} chosen={events} />
      {known.length > 0 && (
        <ChoicesField
          name="batch_export_ids"
          label="Only for these exports (if empty, for all)"
          options={known.map((row) => ({ value: row.id, label: row.name }))}
          chosen={batch_export_ids ?? []}
        />
      )}
    </Form>
  );
}

/** The fields of the target's address; a stored address or secret is not shown. */
function PlaceFields({ target: { type, address } }: Pick<Given, 'target'>) {
  return (
    <>
      {type === 'email' ? (
        <TextField name="address" label="E-mail address" type="email" value={address ?? ''} />
      ) : (
        <TextField
          name="url"
          label="Another address"
          hint="If empty, the address stays."
          inputMode="url"
          is_optional
          is_unkept
        />
      )}
      {(type === 'webhook' || type === 'pagerduty') && (
        <SecretField
          name="secret"
          label={type === 'webhook' ? 'Another secret' : 'Another integration key'}
          hint="If empty, it stays. Another address needs it again."
          is_optional
        />
      )}
    </>
  );
}

function Delete({ target, project_id }: Given) {
  const navigate = route.useNavigate();
  return (
    <TypedForm
      name={nameOf(target)}
      text="It gets no more notices. Past notices are kept."
      path={targetPath(project_id, target.id)}
      if_match={etagOf(target)}
      done={() => navigate({ to: '/projects/$project_id/notices', params: { project_id } })}
      button="Delete the target"
    />
  );
}
