import { autocompletion, completionKeymap } from '@codemirror/autocomplete';
import type { CompletionContext } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { colours, typeOver } from '../../page/editor_look.ts';
import { styleNonce } from '../../page/nonce.ts';
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
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(given);
  useEffect(() => {
    latest.current = given;
  });
  useEffect(() => {
    const editor = openEditor(place.current!, latest);
    view.current = editor;
    return () => editor.destroy();
  }, []);
  const { value, faults } = given;
  useEffect(() => {
    const editor = view.current!;
    const text = editor.state.doc.toString();
    if (text !== value) editor.dispatch({ changes: { from: 0, to: text.length, insert: value } });
  }, [value]);
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
  }, [faults]);
  return <div className="editor code_editor" ref={place} />;
}

function openEditor(parent: HTMLElement, latest: { current: Given }): EditorView {
  const { value, label, is_read_only } = latest.current;
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: value,
      extensions: [
        EditorView.cspNonce.of(styleNonce()),
        EditorState.readOnly.of(is_read_only),
        history(),
        lineNumbers(),
        lintGutter(),
        indentUnit.of('  '),
        indentOnInput(),
        bracketMatching(),
        keymap.of([...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        script_language,
        syntaxHighlighting(colours),
        autocompletion({ override: [(context) => complete(context, latest.current.names)] }),
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: typeOver }),
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false' }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) latest.current.change(state.doc.toString());
        }),
      ],
    }),
  });
}

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
