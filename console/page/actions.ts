import { useEffect } from 'react';

/** Something that can be done on the page that is looked at. */
export type PageAction = {
  label: string;
  /** Does it; gives what was done or why not, as a sentence, where that is not seen on the page. */
  run: () => Promise<string | undefined> | string | undefined;
};

const shown = new Map<symbol, readonly PageAction[]>();

/** Offers the actions to the command palette while the component is drawn. */
export function useActions(actions: readonly PageAction[]): void {
  useEffect(() => {
    const key = Symbol('actions');
    shown.set(key, actions);
    return () => void shown.delete(key);
  });
}

/** The actions of what is drawn now. */
export function shownActions(): PageAction[] {
  return [...shown.values()].flat();
}
