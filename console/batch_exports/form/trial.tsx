import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { ExportPreview } from '../../../server/api/batch_exports/drafts/schema.ts';
import { askForChange } from '../../http/change.ts';
import type { Problem } from '../../http/problem.ts';
import { BusyButton } from '../../page/busy_button.tsx';
import { now } from '../../time/now.ts';
import { TestSteps } from '../../destinations/test_steps.tsx';
import { shown_keys } from './draft.ts';
import type { NewExport } from './draft.ts';
import { counted, inBytes, inTime } from '../../page/quantities.ts';
import type { Answer, Body, Path } from '../../http/path.ts';

type Exports = '/api/projects/:project_id/batch_exports/';
type TestRoute = `${Exports}test/` | `${Exports}:id/test/`;
type PreviewRoute = `${Exports}preview/` | `${Exports}:id/preview/`;

type Given = {
  /** Path of the test of the form. */
  test: Path<TestRoute>;
  /** Path of the preview of its first rows. */
  preview: Path<PreviewRoute>;
  /** Returns the current content of the form. */
  body: () => NewExport;
  if_match: string | undefined;
  /** Tells the form why it was refused, so that it stands at the fields. */
  refused: (problem: Problem | null) => void;
};

/** Tries what the form says before it is saved: the connection, and the first rows. */
export function Trial(given: Given) {
  const test = useAsking(given.test, given);
  const preview = useAsking(given.preview, given);
  // Another name makes no other connection.
  const tried = JSON.stringify({ ...given.body(), name: '' });
  return (
    <section aria-label="Try it" className="trial">
      <div className="toolbar">
        <BusyButton is_busy={test.isPending} press={() => test.mutate(tried)}>
          Test the connection
        </BusyButton>
        <BusyButton is_busy={preview.isPending} press={() => preview.mutate(tried)}>
          Preview the first rows
        </BusyButton>
        {test.isPending && <Waited what="Testing" />}
      </div>
      <div role="status">
        {test.data !== undefined && (
          <TestSteps test={test.data} is_old={test.variables !== tried} />
        )}
      </div>
      {preview.data !== undefined && (
        <Preview preview={preview.data} is_old={preview.variables !== tried} />
      )}
    </section>
  );
}

/** Asks what the API makes of the form as it stands; `variables` is what was tried. */
function useAsking<To extends TestRoute | PreviewRoute>(
  path: Path<To>,
  { body, if_match, refused }: Given,
) {
  const queries = useQueryClient();
  return useMutation<Answer<'POST', To>, Problem, string>({
    mutationFn: async () => {
      refused(null);
      const sent = { body: body() as Body<'POST', To>, if_match };
      const outcome = await askForChange(queries, 'POST', path, sent, shown_keys);
      if (!outcome.ok) throw outcome.problem;
      return outcome.body;
    },
    onError: refused,
  });
}

/** Shows the time of waiting. */
function Waited({ what }: { what: string }) {
  const [began] = useState(now);
  const [at, setAt] = useState(began);
  useEffect(() => {
    const timer = setInterval(() => setAt(now()), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <span className="muted">
      {what}… {inTime((at - began) / 1000)}
    </span>
  );
}

function Preview({ preview, is_old }: { preview: ExportPreview; is_old: boolean }) {
  const { format, compression, records, headers, text, base64 } = preview;
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const save = () => {
    const address = URL.createObjectURL(new Blob([bytes]));
    const link = document.createElement('a');
    Object.assign(link, { href: address, download: `preview.${format.toLowerCase()}` });
    link.click();
    URL.revokeObjectURL(address);
  };
  return (
    <div className="preview">
      <p role="status" className={is_old ? 'muted' : undefined}>
        {counted(records, 'row')} as {format}
        {compression === null ? '' : `, ${compression}`}: {inBytes(bytes.length)}.{' '}
        {records === 0 && 'The project has no rows to export yet.'}
        {is_old && ' You changed the form since then: preview it again.'}
      </p>
      {headers !== null && (
        <pre tabIndex={0} role="region" aria-label="Headers of the request">
          {Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n')}
        </pre>
      )}
      {text !== null && text !== '' && (
        <pre tabIndex={0} role="region" aria-label="The first rows as they are delivered">
          {text}
        </pre>
      )}
      {text === null && <p className="muted">Parquet is not text. Save the file to read it.</p>}
      {bytes.length > 0 && (
        <Button size="compact-sm" variant="default" onClick={save}>
          Save these bytes
        </Button>
      )}
    </div>
  );
}
