import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { NoticeTargetRow } from '../../server/api/notice_targets/schema.ts';
import { event_words } from '../batch_exports/notices/notice_words.ts';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { pathOf } from '../http/reading.ts';
import { instance } from '../page/around/instance.ts';
import { Command } from '../page/command.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { Panel } from '../page/panel.tsx';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { event_choices, nameOf, noticeTargets, type_names } from './notice_targets.ts';
import { NewTarget } from './new_target.tsx';
import type { Created } from './new_target.tsx';
import { TargetState } from './target_state.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/notices');

/** Shows the targets of notices about exports. */
export function TargetsPage() {
  const { project_id } = route.useParams();
  const list = noticeTargets(project_id);
  const query = useQuery(list);
  const [created, setCreated] = useState<Created>();
  const is_first = query.data?.count === 0;
  return (
    <Page title="Notices" request={pathOf(list)}>
      <Section title="Targets" is_wide>
        {typeof created?.secret === 'string' && <Secret key={created.id} secret={created.secret} />}
        <Shown query={query}>
          {({ count, results }) =>
            count === 0 ? (
              <NoTarget />
            ) : (
              <Rows rows={results} keyOf={({ id }) => id} columns={columnsOf(project_id)} />
            )
          }
        </Shown>
      </Section>
      <Section title="New target">
        <NewTarget project_id={project_id} is_first={is_first} created={setCreated} />
      </Section>
    </Page>
  );
}

/** Shows the signing secret of the webhook, which the API returns only once. */
function Secret({ secret }: { secret: string }) {
  return (
    <Panel>
      <h3>The secret of the webhook</h3>
      <p>It is not shown again. The receiver checks the signature with it.</p>
      <Command text={secret} what="the secret" />
    </Panel>
  );
}

/** Says who gets notices while the project has no target. */
function NoTarget() {
  const { data } = useQuery(instance);
  return (
    <Empty title="No targets yet">
      {data?.sends_mail === false
        ? 'This server has no mail relay, so nobody is notified until you create one.'
        : 'Until you create one, Sluice mails notices to the administrators of the organization.'}
    </Empty>
  );
}

const columnsOf = (project_id: string): Columns<NoticeTargetRow> => ({
  To: (target) => (
    <>
      <ManagedMark by={target.managed_by} />
      <Link
        to="/projects/$project_id/notices/$target_id"
        params={{ project_id, target_id: target.id }}
      >
        {nameOf(target)}
      </Link>
    </>
  ),
  Kind: ({ type }) => type_names[type],
  Notices: {
    long: ({ events }) =>
      events.length === event_choices.length
        ? 'Everything'
        : events.map((event) => event_words[event]).join(', '),
  },
  Exports: ({ batch_export_ids: ids }) => (ids === null ? 'All' : ids.length),
  State: { long: (target) => <TargetState target={target} /> },
});
