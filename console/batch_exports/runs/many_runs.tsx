import { Button, Progress } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { ReactNode } from 'react';
import type { BulkActionItem } from '../../../server/api/batch_exports/bulk_actions/schema.ts';
import { exportPath, useExport } from '../export_context.ts';
import { useWhenChanged } from '../following.ts';
import { Form } from '../../form/form.tsx';
import { Panel } from '../../page/panel.tsx';
import { Shown } from '../../page/shown.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { counted } from '../../page/text/quantities.ts';
import { useReadAnew } from '../read_anew.ts';
import { abortPath, many_runs, matchingRuns, oneAction } from './bulk.ts';
import { Results } from './results.tsx';
import { instantOfAddress, statusChoice, status_choices } from './run_filters.ts';
import type { RunSearch } from './run_filters.ts';
import { pathTo } from '../../http/path.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/runs');

type Action = 'retry_runs' | 'cancel_runs';
const words = {
  retry_runs: { label: 'Retry all that match', verb: 'Retry' },
  cancel_runs: { label: 'Cancel all that match', verb: 'Cancel' },
} as const;

/**
 * The filters, with bulk actions on all matching runs, including those not read here: retry or
 * cancel.
 */
export function ManyRuns({ search, children }: { search: RunSearch; children: ReactNode }) {
  const [asked, ask] = useState<Action>();
  const choice = statusChoice(search.status);
  const close = () => ask(undefined);
  return (
    <>
      <div className="toolbar run_tools">
        {children}
        <div className="row_actions">
          {choice !== 'open' && choice !== 'completed' && (
            <Button size="compact-sm" onClick={() => ask('retry_runs')}>
              {words.retry_runs.label}
            </Button>
          )}
          {(choice === undefined || choice === 'open') && (
            <Button size="compact-sm" onClick={() => ask('cancel_runs')}>
              {words.cancel_runs.label}
            </Button>
          )}
        </div>
      </div>
      {asked !== undefined && <Asked key={asked} action={asked} search={search} close={close} />}
      {search.action !== undefined && <Progressing id={search.action} />}
    </>
  );
}

/** Returns the API's names for the filters of the address. */
function filterOf({ status, after, before }: RunSearch) {
  const choice = statusChoice(status);
  return {
    ...(choice === undefined ? {} : { status: [...status_choices[choice].statuses] }),
    ...(instantOfAddress(after) === undefined ? {} : { after: instantOfAddress(after) }),
    ...(instantOfAddress(before) === undefined ? {} : { before: instantOfAddress(before) }),
  };
}

function Asked({
  action,
  search,
  close,
}: {
  action: Action;
  search: RunSearch;
  close: () => void;
}) {
  const { ids } = useExport();
  const navigate = route.useNavigate();
  const body = { action, filter: filterOf(search) };
  const query = useQuery(matchingRuns(ids, body));
  const { verb } = words[action];
  return (
    <Panel>
      <Shown query={query}>
        {({ progress: { total } }) =>
          total === 0 ? (
            <p>No run that matches can be {action === 'retry_runs' ? 'retried' : 'cancelled'}.</p>
          ) : (
            <>
              <p>
                {counted(total, 'run')} of this export {total === 1 ? 'matches' : 'match'} now;
                later runs stay as they are.
              </p>
              <Form
                path={pathTo(many_runs, ids)}
                body={() => body}
                done={async ({ id }) => {
                  await navigate({ search: { ...search, action: id }, replace: true });
                  close();
                }}
                button={`${verb} ${counted(total, 'run')}`}
              />
            </>
          )
        }
      </Shown>
      <Button size="compact-sm" variant="subtle" mt="xs" onClick={close}>
        Do nothing
      </Button>
    </Panel>
  );
}

function Progressing({ id }: { id: string }) {
  const { row, ids } = useExport();
  const navigate = route.useNavigate();
  const readAnew = useReadAnew(exportPath(ids));
  const action = { project_id: row.team_id, id };
  const query = useQuery(oneAction(action));
  const ended_at = query.data?.finished_at ?? undefined;
  useWhenChanged(ended_at, readAnew);
  const close = () =>
    void navigate({ search: ({ action: _action, ...rest }) => rest, replace: true });
  return (
    <section className="panel" aria-label="Many runs">
      <Shown query={query}>
        {({ detail, finished_at, progress: { total, pending, refused } }) => (
          <>
            <p role="status">
              <Sentence text={detail} />
            </p>
            <Progress
              value={total === 0 ? 100 : ((total - pending) / total) * 100}
              aria-label="Progress of the action"
              mb="xs"
            />
            <Results
              action={action}
              refused={refused}
              renderName={(item) => <RunName item={item} />}
            />
            {finished_at === null ? (
              <Form
                path={abortPath(action)}
                done={() => query.refetch()}
                button="Abort"
                about="the action on many runs"
                tone="danger"
              />
            ) : (
              <Button size="compact-sm" onClick={close}>
                Close
              </Button>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

/** Shows a run in the results, by the id of the new run if it was retried. */
function RunName({ item: { run, new_run } }: { item: BulkActionItem }) {
  const { row } = useExport();
  const run_id = new_run ?? run ?? '';
  return (
    <Link
      to="/projects/$project_id/exports/$export_id/runs/$run_id"
      params={{ project_id: String(row.team_id), export_id: row.id, run_id }}
    >
      Run {run_id.slice(-8)}
    </Link>
  );
}
