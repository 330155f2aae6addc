import { HighlightStyle, defaultHighlightStyle } from '@codemirror/language';
import type { EditorView } from '@codemirror/view';

/** The console's colours, which replace the package's colours for light pages. */
const tones: Record<string, string> = {
  '#708': 'var(--mantine-color-anchor)',
  '#a11': 'var(--good)',
  '#164': 'var(--warn)',
  '#219': 'var(--warn)',
  '#940': 'var(--mantine-color-dimmed)',
};

/** The colours of code in an editor, in both themes. */
export const colours = HighlightStyle.define(
  defaultHighlightStyle.specs.flatMap(({ tag, color }) =>
    typeof color === 'string' && color in tones ? [{ tag, color: tones[color]! }] : [],
  ),
);

/**
 * Replaces the selection. The browser would keep the selected text's colour with a style attribute,
 * which the page's policy forbids.
 */
export function typeOver({ inputType, data }: InputEvent, editor: EditorView): boolean {
  const { state } = editor;
  const selected = selectionOf(editor);
  if (inputType !== 'insertText' || data === null || state.readOnly || selected === undefined)
    return false;
  editor.dispatch({
    changes: { ...selected, insert: data },
    selection: { anchor: selected.from + data.length },
    userEvent: 'input.type',
    scrollIntoView: true,
  });
  return true;
}

/**
 * Returns the selected span; undefined without one. The browser may know it before the editor does.
 */
function selectionOf(editor: EditorView): { from: number; to: number } | undefined {
  const { from, to, empty } = editor.state.selection.main;
  if (!empty) return { from, to };
  const shown = document.getSelection();
  if (shown === null || shown.isCollapsed || !editor.contentDOM.contains(shown.anchorNode))
    return undefined;
  const ends = [
    editor.posAtDOM(shown.anchorNode!, shown.anchorOffset),
    editor.posAtDOM(shown.focusNode!, shown.focusOffset),
  ];
  return { from: Math.min(...ends), to: Math.max(...ends) };
}
