import { Button, Progress } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { BulkAction } from '../../../server/api/batch_exports/bulk_actions/schema.ts';
import { Form } from '../../form/form.tsx';
import { Shown } from '../../page/shown.tsx';
import { useWhenChanged } from '../following.ts';
import { counted } from '../../page/text/quantities.ts';
import { useReadAnew } from '../read_anew.ts';
import { abortPath, oneAction } from '../runs/bulk.ts';
import { Results } from '../runs/results.tsx';
import { pathTo } from '../../http/path.ts';

/** Actions on the selected exports; destructive ones need a typed confirmation. */
export function BulkBar({
  project_id,
  ids,
  begun,
}: {
  project_id: string;
  ids: string[];
  begun: (id: string) => Promise<unknown>;
}) {
  const exports = counted(ids.length, 'export');
  const common = (action: BulkAction['action']) => ({
    path: pathTo('/api/projects/:project_id/bulk_actions/', { project_id }),
    body: () => ({ action, ids }),
    done: ({ id }: BulkAction) => begun(id),
  });
  return (
    <div className="toolbar bulk">
      <Form {...common('pause_exports')} button="Pause" about={exports} tone="plain" />
      <Form {...common('unpause_exports')} button="Resume" about={exports} tone="plain" />
      <Form
        {...common('delete_exports')}
        button="Delete"
        about={exports}
        tone="danger"
        asks={() => ({
          title: `Delete ${exports}?`,
          text:
            'Their schedules end, and their runs in progress are cancelled. Delivered rows ' +
            'stay where they are. This cannot be undone.',
          button: `Delete ${exports}`,
          keep: 'Delete nothing',
          typed: `delete ${ids.length}`,
        })}
      />
    </div>
  );
}

/** Shows the progress of a bulk action, and the result of each item. */
export function BulkProgress({
  project_id,
  id,
  close,
}: {
  project_id: string;
  id: string;
  close: () => void;
}) {
  const action = { project_id, id };
  const readAnew = useReadAnew(pathTo('/api/projects/:id/', { id: project_id }));
  const query = useQuery(oneAction(action));
  const ended_at = query.data?.finished_at ?? undefined;
  useWhenChanged(ended_at, readAnew);
  return (
    <section className="panel" aria-label="Many exports">
      <Shown query={query}>
        {({ detail, finished_at, progress: { total, pending, refused } }) => (
          <>
            <p role="status">{detail}</p>
            <Progress
              value={total === 0 ? 100 : ((total - pending) / total) * 100}
              aria-label="Progress of the action"
              mb="xs"
            />
            {finished_at === null ? (
              <Form
                path={abortPath(action)}
                done={() => query.refetch()}
                button="Abort"
                about="the action on many exports"
                tone="danger"
              />
            ) : (
              <>
                <Results
                  action={action}
                  refused={refused}
                  renderName={(item) => <bdi>{item.name}</bdi>}
                />
                <Button size="compact-sm" onClick={close}>
                  Close
                </Button>
              </>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}
