import { useEffect } from 'react';

/** An action on the current page. */
export type PageAction = {
  label: string;
  /**
   * Runs the action; returns a sentence with the result or refusal, if the page does not show it.
   */
  run: () => Promise<string | undefined> | string | undefined;
};

const shown = new Map<symbol, readonly PageAction[]>();

/** Offers the actions in the command palette while the component is rendered. */
export function useActions(actions: readonly PageAction[]): void {
  useEffect(() => {
    const key = Symbol('actions');
    shown.set(key, actions);
    return () => void shown.delete(key);
  });
}

/** Returns the actions of the rendered components. */
export function shownActions(): PageAction[] {
  return [...shown.values()].flat();
}
