import { completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { syntaxHighlighting } from '@codemirror/language';
import { lintKeymap } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import { EditorView, keymap } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { styleNonce } from '../around/nonce.ts';
import { colours, typeOver } from './look.ts';

type Edited = {
  value: string;
  label: string;
  change: (value: string) => void;
};

/**
 * Keeps an editor for the value in the element `place`. `ownOf` returns this editor's own
 * extensions; it reads the latest input when used.
 */
export function useEditor<Given extends Edited>(
  given: Given,
  ownOf: (latest: { readonly current: Given }) => Extension,
) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(given);
  useEffect(() => {
    latest.current = given;
  });
  useEffect(() => {
    const { value, label } = latest.current;
    const extensions = [
      EditorView.cspNonce.of(styleNonce()),
      history(),
      keymap.of([...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
      syntaxHighlighting(colours),
      ownOf(latest),
      EditorView.lineWrapping,
      EditorView.domEventHandlers({ beforeinput: typeOver }),
      EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false' }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) latest.current.change(state.doc.toString());
      }),
    ];
    const state = EditorState.create({ doc: value, extensions });
    const editor = new EditorView({ parent: place.current!, state });
    view.current = editor;
    return () => editor.destroy();
  }, [ownOf]);
  const { value } = given;
  useEffect(() => {
    const editor = view.current!;
    const text = editor.state.doc.toString();
    if (text !== value) editor.dispatch({ changes: { from: 0, to: text.length, insert: value } });
  }, [value]);
  return { place, view };
}
