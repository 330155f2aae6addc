import { autocompletion } from '@codemirror/autocomplete';
import type { CompletionContext } from '@codemirror/autocomplete';
import { bracketMatching, indentOnInput, indentUnit } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { lineNumbers } from '@codemirror/view';
import { useEffect } from 'react';
import { useEditor } from '../../page/editor/use_editor.ts';
import type { ApiName } from './plugin_api.ts';
import { script_language } from './script_language.ts';
import type { CodeFault } from './fault_place.ts';
import { spanInText } from './span_in_text.ts';

/** The input of an editor of one file. */
export type Given = {
  value: string;
  label: string;
  is_read_only: boolean;
  /** Faults of this file, shown at their places. */
  faults: readonly CodeFault[];
  /** The names that completion offers. */
  names: readonly ApiName[];
  change: (value: string) => void;
};

/** An editor of code: colours, completion of the plugin API, faults at their place. */
export function CodeEditor(given: Given) {
  const { place, view } = useEditor(given, codeOf);
  const { faults } = given;
  useEffect(() => {
    const { state, contentDOM } = view.current!;
    const text = state.doc.toString();
    const found = faults.map((fault) => ({
      ...spanInText(text, fault),
      severity: 'error' as const,
      message: fault.message,
    }));
    view.current!.dispatch(setDiagnostics(state, found));
    contentDOM.setAttribute('aria-invalid', String(found.length > 0));
  }, [view, faults]);
  return <div className="editor code_editor" ref={place} />;
}

const codeOf = (latest: { readonly current: Given }) => [
  EditorState.readOnly.of(latest.current.is_read_only),
  lineNumbers(),
  lintGutter(),
  indentUnit.of('  '),
  indentOnInput(),
  bracketMatching(),
  script_language,
  autocompletion({ override: [(context) => complete(context, latest.current.names)] }),
];

function complete(context: CompletionContext, names: readonly ApiName[]) {
  const word = context.matchBefore(/[\w$.]+/);
  if (word === null && !context.explicit) return null;
  return {
    from: word?.from ?? context.pos,
    options: names.map(({ name, signature, meaning, kind }) => ({
      label: name,
      type: kind === 'export' ? 'function' : 'variable',
      detail: signature,
      info: meaning,
    })),
    validFor: /^[\w$.]*$/,
  };
}
