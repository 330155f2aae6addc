import { autocompletion } from '@codemirror/autocomplete';
import type { Completion, CompletionContext } from '@codemirror/autocomplete';
import { keywordCompletionSource, sql, StandardSQL } from '@codemirror/lang-sql';
import { linter } from '@codemirror/lint';
import type { Diagnostic } from '@codemirror/lint';
import type { EditorView } from '@codemirror/view';
import { useEffect } from 'react';
import type { QueryLanguage, QueryValidation } from '../../server/api/query/schema.ts';
import { useEditor } from '../page/editor/use_editor.ts';
import { tablesBehindDot } from './behind_dot.ts';
import { spanOf } from './place.ts';

/** The input of a query editor. */
export type Given = {
  value: string;
  label: string;
  described_by: string;
  is_wrong: boolean;
  language: QueryLanguage | undefined;
  change: (value: string) => void;
  /** Checks the text, and shows its faults at their positions. */
  validate: (text: string) => Promise<QueryValidation | undefined>;
};

/** A query editor: colours, completion, faults at their positions. */
export function Editor(given: Given) {
  const { place, view } = useEditor(given, queryOf);
  const { described_by, is_wrong } = given;
  useEffect(() => {
    const { contentDOM } = view.current!;
    contentDOM.setAttribute('aria-describedby', described_by);
    contentDOM.setAttribute('aria-invalid', String(is_wrong));
  }, [view, described_by, is_wrong]);
  return <div className="editor" ref={place} />;
}

const queryOf = (latest: { readonly current: Given }) => [
  sql({ dialect: StandardSQL }),
  autocompletion({
    override: [
      (context) => complete(context, latest.current.language),
      (context) => (context.matchBefore(/\.[\w$]*/) === null ? keywords(context) : null),
    ],
  }),
  linter((editor) => findFaults(editor, latest.current.validate), { delay: 400 }),
];

const keywords = keywordCompletionSource(StandardSQL, true);

function complete(context: CompletionContext, language: QueryLanguage | undefined) {
  const word = context.matchBefore(/[\w$]+/);
  if (language === undefined || (word === null && !context.explicit)) return null;
  const behind = context.matchBefore(/[\w$]+\.[\w$]*/)?.text ?? '';
  const of_tables = tablesBehindDot(behind, language.tables);
  const columns = (of_tables ?? language.tables).flatMap((table) =>
    table.columns.map(({ name, type }): Completion => ({
      label: name,
      type: 'property',
      detail: `${type} of ${table.name}`,
      boost: 1,
    })),
  );
  const options = of_tables === undefined ? [...columns, ...others(language)] : columns;
  return { from: word?.from ?? context.pos, options, validFor: /^[\w$]*$/ };
}

/** Returns the suggestions where no column of a certain table must follow. */
function others(language: QueryLanguage): Completion[] {
  return [
    ...language.tables.map(({ name }) => ({ label: name, type: 'class', detail: 'table' })),
    ...language.functions.map(({ name, signature, meaning }) => ({
      label: name,
      type: 'function',
      detail: signature.startsWith(name) ? signature.slice(name.length) : signature,
      info: meaning,
    })),
  ];
}

async function findFaults(editor: EditorView, validate: Given['validate']): Promise<Diagnostic[]> {
  const text = editor.state.doc.toString();
  const answer = await validate(text);
  return (answer?.errors ?? []).map(({ detail, suggestion, ...place }) => {
    const { from, to } = spanOf(text, place);
    return {
      from,
      to,
      severity: 'error',
      message: detail,
      actions:
        suggestion === null
          ? []
          : [
              {
                name: `Write ${suggestion}`,
                apply: (target, start, end) =>
                  target.dispatch({ changes: { from: start, to: end, insert: suggestion } }),
              },
            ],
    };
  });
}
