import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { Static } from 'typebox';
import type { NoticeTargetRow, NoticeTargetTest } from '../../server/api/notice_targets/schema.ts';
import { batchExports } from '../batch_exports/batch_exports.ts';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { ChoicesField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { Page } from '../page/page.tsx';
import { Panel } from '../page/panel.tsx';
import { Section, useDone } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { event_choices, noticeTargetOf, targetPath, whereOf } from './notice_targets.ts';
import { TargetState } from './target_state.tsx';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/signed_in/projects/$project_id/notices/$target_id');
type Given = { target: NoticeTargetRow; project_id: string };
type Tried = Static<typeof NoticeTargetTest>;

/** One target of notices: what it is told, a try, and its end. */
export function TargetPage() {
  const { project_id, target_id } = route.useParams();
  const read = noticeTargetOf(project_id, target_id);
  const query = useQuery(read);
  const title = query.data === undefined ? 'Notices' : whereOf(query.data);
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
                <TargetState target={target} />
              </p>
              <ManagedNote by={target.managed_by} />
              <Section title="Test">
                <Try {...given} />
              </Section>
              <Section title="Notices">
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

function Try({ target, project_id }: Given) {
  const [tried, setTried] = useState<Tried>();
  return (
    <>
      {tried !== undefined && (
        <Panel>
          <p className={tried.is_delivered === true ? 'good' : 'bad'}>
            {tried.is_delivered === true
              ? 'The target accepted it.'
              : 'The target did not accept it.'}
          </p>
          {tried.detail !== null && <p>{tried.detail}</p>}
        </Panel>
      )}
      <Form
        path={pathTo('/api/projects/:project_id/notice_targets/:id/test/', {
          project_id,
          id: target.id,
        })}
        done={setTried}
        button="Send a test notice"
        tone="plain"
      />
    </>
  );
}

function Change({ target, project_id }: Given) {
  const { id, type, address, events, enabled, batch_export_ids } = target;
  const done = useDone();
  const { data } = useQuery(batchExports(project_id, 1));
  const known = data?.results ?? [];
  // The newest of very many exports are shown; the others stay chosen as they are.
  const unseen = (batch_export_ids ?? []).filter((one) => !known.some((row) => row.id === one));
  return (
    <Form
      key={data === undefined ? 'waiting' : 'known'}
      method="PATCH"
      path={targetPath(project_id, id)}
      if_match={etagOf(target)}
      body={({ batch_export_ids: ticked, enabled: box, address: mail, url, events: chosen }) => {
        const ids = [...unseen, ...[ticked ?? []].flat()];
        return {
          address: mail,
          url,
          events: chosen,
          enabled: isTicked({ enabled: box ?? [] }, 'enabled'),
          ...(data === undefined ? {} : { batch_export_ids: ids.length === 0 ? null : ids }),
        };
      }}
      done={() => done('The target was saved.', noticeTargetOf(project_id, id))}
      button="Save the target"
    >
      {type === 'email' ? (
        <TextField
          name="address"
          label="E-mail address"
          type="email"
          value={address ?? ''}
          autoComplete="off"
        />
      ) : (
        <TextField
          name="url"
          label="Another address"
          hint="Empty: it stays."
          autoComplete="off"
          inputMode="url"
          is_optional
          is_unkept
        />
      )}
      <BoxField name="enabled" label="Notices are sent" is_on={enabled} />
      <ChoicesField name="events" label="Of what" options={event_choices} chosen={events} />
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

function Delete({ target, project_id }: Given) {
  const navigate = route.useNavigate();
  return (
    <TypedForm
      name={whereOf(target)}
      text="It gets no more notices. Past notices are kept."
      path={targetPath(project_id, target.id)}
      if_match={etagOf(target)}
      done={() => navigate({ to: '/projects/$project_id/notices', params: { project_id } })}
      button="Delete the target"
    />
  );
}
