import { Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { Static } from 'typebox';
import type { NewNoticeTarget, NoticeTargetRow } from '../../server/api/notice_targets/schema.ts';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { ChoicesField, SecretField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { pathOf } from '../http/reading.ts';
import { Command } from '../page/command.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { Panel } from '../page/panel.tsx';
import { Rows } from '../page/rows.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { event_choices, noticeTargets, whereOf } from './notice_targets.ts';
import { TargetState } from './target_state.tsx';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/signed_in/projects/$project_id/notices');
type Created = Static<typeof NewNoticeTarget>;

/** Shows the targets of notices about exports. */
export function TargetsPage() {
  const { project_id } = route.useParams();
  const list = noticeTargets(project_id);
  const query = useQuery(list);
  const [created, setCreated] = useState<Created>();
  const is_first = query.data?.count === 0;
  return (
    <Page title="Notices" request={pathOf(list)}>
      <Section title="Who is told" is_wide>
        {typeof created?.secret === 'string' && <Secret key={created.id} secret={created.secret} />}
        <Shown query={query}>
          {({ count, results }) =>
            count === 0 ? (
              <Empty title="No targets yet">
                Until you create one, Sluice mails notices to the administrators of the
                organization, if the server has a mail relay.
              </Empty>
            ) : (
              <Rows columns={['To', 'Kind', 'Of what', 'Of which exports', 'State']}>
                {results.map((target) => (
                  <Row key={target.id} target={target} project_id={project_id} />
                ))}
              </Rows>
            )
          }
        </Shown>
        <Seldom summary="Notify a person by mail">
          <Create type="email" project_id={project_id} is_first={is_first} created={setCreated} />
        </Seldom>
        <Seldom summary="Notify a program by webhook">
          <Create type="webhook" project_id={project_id} is_first={is_first} created={setCreated} />
        </Seldom>
      </Section>
    </Page>
  );
}

/** Shows the signing secret of the webhook, which the API shows once. */
function Secret({ secret }: { secret: string }) {
  return (
    <Panel>
      <h3>The secret of the webhook</h3>
      <p>It is not shown again. The receiver checks the signature with it.</p>
      <Command text={secret} what="the secret" />
    </Panel>
  );
}

function Row({ target, project_id }: { target: NoticeTargetRow; project_id: string }) {
  const { id, type, events, batch_export_ids } = target;
  const told = event_choices.filter(({ value }) => (events as string[]).includes(value));
  return (
    <Table.Tr>
      <Table.Th scope="row">
        <ManagedMark by={target.managed_by} />
        <Link to="/projects/$project_id/notices/$target_id" params={{ project_id, target_id: id }}>
          {whereOf(target)}
        </Link>
      </Table.Th>
      <Table.Td data-label="Kind">{type === 'email' ? 'Mail' : 'Webhook'}</Table.Td>
      <Table.Td data-label="Of what" className="long">
        {told.length === event_choices.length
          ? 'Everything'
          : told.map(({ label }) => label).join('; ')}
      </Table.Td>
      <Table.Td data-label="Exports">
        {batch_export_ids === null ? 'All' : batch_export_ids.length}
      </Table.Td>
      <Table.Td data-label="State" className="long">
        <TargetState target={target} />
      </Table.Td>
    </Table.Tr>
  );
}

function Create({
  type,
  project_id,
  is_first,
  created,
}: {
  type: NoticeTargetRow['type'];
  project_id: string;
  /** True if it ends the mails to administrators. */
  is_first: boolean;
  created: (target: Created) => void;
}) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/projects/:project_id/notice_targets/', { project_id })}
      body={({ address, url, secret, events }) => ({ type, address, url, secret, events })}
      done={async (target) => {
        await done(`${whereOf(target)} gets notices now.`, noticeTargets(project_id));
        created(target);
      }}
      button={type === 'email' ? 'Send mails' : 'Send webhooks'}
      part={type}
      clears
    >
      {is_first && (
        <p className="muted">
          This is the first target. Only targets will get notices, and no longer every
          administrator.
        </p>
      )}
      {type === 'email' ? (
        <TextField name="address" label="E-mail address" type="email" autoComplete="off" />
      ) : (
        <>
          <TextField name="url" label="Address" autoComplete="off" inputMode="url" is_unkept />
          <SecretField
            name="secret"
            label="Secret"
            hint="whsec_ and 24 to 64 bytes in base64. If empty, the server creates one."
            is_optional
          />
        </>
      )}
      <ChoicesField
        name="events"
        label="Of what"
        options={event_choices}
        chosen={event_choices.map(({ value }) => value)}
      />
    </Form>
  );
}
