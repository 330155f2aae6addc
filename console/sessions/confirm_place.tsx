import { Suspense, useEffect, useState } from 'react';
import type { ComponentType, ReactNode } from 'react';
import { whenUnconfirmed } from '../http/confirming.ts';
import type { Problem } from '../http/problem.ts';
import { loadedLater } from '../page/load_page.tsx';
import { MissingDialog } from '../page/missing_dialog.tsx';
import { WayOutContext } from '../page/around/way_out.ts';
import type { Confirming } from './confirm_dialog.tsx';
import { WayOut } from './way_out.tsx';

const missing: ComponentType<Confirming> = MissingDialog;
const ConfirmDialog = loadedLater(() => import('./confirm_dialog.tsx'), 'ConfirmDialog', missing);

const drawWayOut = (problem: Problem) => <WayOut problem={problem} />;

type Asked = { problem: Problem | undefined; answer: (is_confirmed: boolean) => void };

/**
 * Wraps all pages: asks the person to confirm their identity when needed, once for all waiting
 * requests. The dialog's code is loaded on demand.
 */
export function ConfirmPlace({ children }: { children: ReactNode }) {
  const [asked, setAsked] = useState<Asked>();
  useEffect(() => {
    let waiting: Promise<boolean> | undefined;
    whenUnconfirmed((problem) => {
      // Loads the code again if it failed before.
      void ConfirmDialog.preload();
      waiting ??= new Promise<boolean>((answer) => setAsked({ problem, answer })).finally(() => {
        waiting = undefined;
        setAsked(undefined);
      });
      return waiting;
    });
  }, []);
  return (
    <WayOutContext value={drawWayOut}>
      {children}
      {asked !== undefined && (
        <Suspense>
          <ConfirmDialog
            problem={asked.problem}
            confirmed={() => asked.answer(true)}
            close={() => asked.answer(false)}
          />
        </Suspense>
      )}
    </WayOutContext>
  );
}
