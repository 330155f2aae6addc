import { Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useCallback, useId, useState } from 'react';
import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import type { QueryValidation } from '../../server/api/query/schema.ts';
import { useFault } from '../form/context.ts';
import { loadedLater } from '../page/load_page.tsx';
import type { Given } from './editor.tsx';
import { queryLanguage, validateQuery } from './queries.ts';

const Editor = loadedLater(() => import('./editor.tsx'), 'Editor', PlainField);

/**
 * The query of an export: an editor, loaded on demand, with the API's check while typing. Until the
 * editor is loaded, or if it cannot be loaded, a plain field replaces it.
 */
export function QueryField({
  project_id,
  model,
  value,
  change,
}: {
  project_id: string;
  model: BatchExport['model'];
  value: string;
  change: (value: string) => void;
}) {
  const fault = useFault('custom_query');
  const { data: language } = useQuery(queryLanguage(project_id));
  const [said, say] = useState<QueryValidation>();
  const id = useId();
  const validate = useCallback(
    async (text: string) => {
      const answer = text.trim() === '' ? undefined : await validateQuery(project_id, text, model);
      say(answer);
      return answer;
    },
    [project_id, model],
  );
  const label = 'Query';
  const is_wrong = fault !== false || said?.is_valid === false;
  const given = { value, label, described_by: id, is_wrong, language, change, validate };
  return (
    <div data-field="custom_query">
      <p className="field_label">{label}</p>
      <p className="field_hint">
        One SELECT over events, persons, person_distinct_ids, sessions and groups. Its columns are
        the columns of the export. Ctrl-Space completes.
      </p>
      <Suspense fallback={<PlainField {...given} />}>
        <Editor key={model} {...given} />
      </Suspense>
      <div id={id}>
        {fault !== false && said?.is_valid !== false && <p className="fault">{fault}</p>}
        {said !== undefined && <Said said={said} />}
      </div>
    </div>
  );
}

function PlainField({ value, label, change }: Given) {
  return (
    <Textarea
      aria-label={label}
      value={value}
      minRows={4}
      autosize
      onChange={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}

function Said({ said: { is_valid, columns, errors } }: { said: QueryValidation }) {
  if (is_valid)
    return (
      <p className="muted" role="status">
        {columns.length} {columns.length === 1 ? 'column' : 'columns'}:{' '}
        {columns.map(({ name, type }) => `${name} (${type})`).join(', ')}
      </p>
    );
  return (
    <div role="status">
      <ul className="faults">
        {errors.map(({ line, column, detail }) => (
          <li key={`${line}.${column} ${detail}`}>
            Line {line}, column {column}: {detail}
          </li>
        ))}
      </ul>
    </div>
  );
}
