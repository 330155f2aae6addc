import { Button, Checkbox } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ChangeEffect } from '../../../server/api/batch_exports/drafts/schema.ts';
import { askForChange } from '../../http/change.ts';
import { Problem } from '../../http/problem.ts';
import { pathTo } from '../../http/path.ts';
import type { Path } from '../../http/path.ts';
import { Dialog } from '../../page/dialog.tsx';
import { counted } from '../../page/text/quantities.ts';
import { shown_keys } from './draft.ts';
import type { NewExport } from './draft.ts';
import type { RowsAgain } from './write_mode.ts';

/** The path of the forecast of a change. */
export type EffectPath = Path<'/api/projects/:project_id/batch_exports/:id/effect/'>;

/** Ranges delivered before a restart, to deliver again. */
export type Delivered = ChangeEffect['delivered'];

type Asked = { effect: ChangeEffect; resolve: (accepted: Delivered | undefined) => void };

/**
 * Asks before saving if a change restarts the export. `confirm` returns what to deliver again
 * afterwards, or undefined if the person declines.
 */
export function useRestartAsked(
  path: EffectPath | undefined,
  if_match: string | undefined,
  refused: (problem: Problem) => void,
) {
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Asked>();
  const confirm = async (body: NewExport): Promise<Delivered | undefined> => {
    if (path === undefined) return [];
    const outcome = await askForChange(queries, 'POST', path, { body, if_match }, shown_keys);
    if (!outcome.ok) {
      refused(outcome.problem);
      return undefined;
    }
    if (!outcome.body.starts_anew) return [];
    return new Promise((resolve) => setAsked({ effect: outcome.body, resolve }));
  };
  const answer = (accepted: Delivered | undefined) => {
    asked?.resolve(accepted);
    setAsked(undefined);
  };
  return { asked: asked?.effect, confirm, answer };
}

/** Starts a backfill for each range; a refusal says that the change itself was saved. */
export function useRedelivery() {
  const queries = useQueryClient();
  return async (project_id: string, id: string, ranges: Delivered): Promise<void> => {
    const path = pathTo('/api/projects/:project_id/batch_exports/:id/backfill/', {
      project_id,
      id,
    });
    for (const range of ranges) {
      const outcome = await askForChange(queries, 'POST', path, { body: range });
      if (outcome.ok) continue;
      const { status, code, message } = outcome.problem;
      const detail = `The export is saved. The backfill was refused: ${message}`;
      throw new Problem(status, [{ attr: null, code, detail }]);
    }
  };
}

const again_words: Partial<Record<RowsAgain, string>> = {
  twice: 'The place then has these rows twice, unless you empty it.',
  merged: 'For each key the table keeps the row with the greatest version.',
};

function againWords(is_same: boolean, again: RowsAgain): { label: string; description?: string } {
  if (!is_same) return { label: 'Also deliver the existing rows to the new place' };
  const description = again_words[again];
  const label = 'Deliver them again after the restart';
  return { label, ...(description === undefined ? {} : { description }) };
}

/** Asks whether the export may restart, and offers to deliver the earlier rows again. */
export function Restart({
  effect,
  again,
  answer,
}: {
  effect: ChangeEffect;
  again: RowsAgain;
  answer: (accepted: Delivered | undefined) => void;
}) {
  const [redelivers, setRedelivers] = useState(false);
  const { delivered_records, open_runs, place_before, place_after, delivered } = effect;
  const is_same = place_before === place_after;
  const has = delivered_records === 1 ? 'stays' : 'stay';
  return (
    <Dialog title="This restarts the export" close={() => answer(undefined)}>
      <dl className="facts">
        <div>
          <dt>{is_same ? 'Place' : 'Until now'}</dt>
          <dd>{place_before}</dd>
        </div>
        {!is_same && (
          <div>
            <dt>From now on</dt>
            <dd>{place_after}</dd>
          </div>
        )}
      </dl>
      <p>
        {delivered_records === 0
          ? 'The export has not delivered any row yet.'
          : !(again === 'replaced' && is_same) &&
            `${counted(delivered_records, 'delivered row')} ${has} in ${place_before}.`}{' '}
        {again === 'replaced' && `The next run replaces all rows in ${place_after}.`}{' '}
        {open_runs > 0 && `${counted(open_runs, 'open run')} will be planned again.`}
      </p>
      {delivered.length > 0 && (
        <Checkbox
          {...againWords(is_same, again)}
          checked={redelivers}
          onChange={({ currentTarget }) => setRedelivers(currentTarget.checked)}
        />
      )}
      <div className="answers">
        <Button onClick={() => answer(undefined)}>Back to the form</Button>
        <Button className="danger" onClick={() => answer(redelivers ? delivered : [])}>
          Save and restart
        </Button>
      </div>
    </Dialog>
  );
}
