import { Button } from '@mantine/core';
import { useCallback, useContext, useMemo, useState } from 'react';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { exportPart } from '../../destinations/config.ts';
import { Form } from '../../form/form.tsx';
import { SaveAnyway } from '../../form/save_anyway.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { triedOf, useLivePreview } from './asking.ts';
import type { PreviewPath } from './asking.ts';
import { isComplete } from './complete.ts';
import { bodyOf } from './draft.ts';
import type { Base, Draft, NewExport } from './draft.ts';
import { ExportFields } from './export_fields.tsx';
import { useKeptDraft } from './kept_draft.ts';
import { pathsOf } from './paths.ts';
import { Restart, useRedelivery } from './restart.tsx';
import { useSaving } from './saving.ts';
import { Trial } from './trial.tsx';
import { rowsAgain } from './write_mode.ts';
import './form.css';

type Given = {
  project_id: string;
  types: DestinationType[];
  /** The export to change; undefined for a new one. */
  export_id?: string;
  base: Base | undefined;
  /** The first values of a new export, and the name under which the draft is stored. */
  copied?: { id: string; draft: Draft };
  /** The keys of its config with a stored secret. */
  stored_secrets?: readonly string[];
  etag: string | undefined;
  saved: (created: BatchExport) => Promise<unknown>;
  /** Called after the typed values were discarded. */
  discarded: () => unknown;
};

/**
 * Creates or changes an export. Typed values stay until they are saved or discarded. It tests a
 * destination before saving. If the test fails, the field shows the fault, and a second button
 * saves all the same. A change that restarts the export is saved after the person accepts it.
 */
export function ExportForm({ base, etag, saved, discarded, copied, ...of }: Given) {
  const { types, project_id, export_id, stored_secrets = [] } = of;
  const paths = pathsOf(project_id, export_id);
  const form_name = copied === undefined ? paths.sent : `${paths.sent} ${copied.id}`;
  const kept = useKeptDraft(form_name, base, etag, useSecretKeys(types), copied?.draft);
  const { draft } = kept;
  const type = useMemo(() => typeOf(types, draft), [types, draft]);
  const zone = useContext(ZoneContext);
  const is_new = kept.base === undefined;
  const typed = bodyOf(draft, kept.base, type, zone);
  const body = is_new && draft.name.trim() === '' ? { ...typed, name: 'A test' } : typed;
  const chosen = types.find((one) => one.type === draft.type);
  const saving = useSaving(paths, kept.etag, { typed, body, type, chosen, is_new });
  const { asked, answer } = saving;
  const rows = useRows(paths.preview, kept.etag, {
    body,
    is_complete: isComplete(type, draft, kept.base, stored_secrets),
    is_wanted: is_new || kept.is_touched,
  });
  const columns = useSeen(rows.live?.preview?.columns);
  const redeliver = useRedelivery();
  return (
    <>
      {kept.is_restored && <Restored lost={kept.lost} />}
      <Form
        method={is_new ? 'POST' : 'PATCH'}
        path={paths.sent}
        body={() => saving.accepted().body}
        if_match={kept.etag}
        part={null}
        later={saving.refusal}
        takeUp={kept.takeUp}
        confirm={saving.confirm}
        done={async (created) => {
          kept.forget();
          await redeliver(project_id, created.id, saving.accepted().ranges);
          await saved(created);
        }}
        button={is_new ? 'Create export' : 'Save changes'}
        also={saving.trial.has_failed ? <SaveAnyway force={saving.force} /> : null}
      >
        <div className="export_columns">
          <div className="sheet together">
            <ExportFields
              {...of}
              {...kept}
              stored_secrets={stored_secrets}
              type={type}
              columns={columns}
              set={kept.type}
            />
          </div>
          <Trial {...saving.trial} {...rows} type={chosen} tried={triedOf(body)} />
        </div>
      </Form>
      {kept.is_touched && <Discard forget={kept.forget} discarded={discarded} />}
      {asked && <Restart effect={asked} again={rowsAgain(draft, type)} answer={answer} />}
    </>
  );
}

/** The latest columns, because a form with a fault has no first rows. */
function useSeen(columns: string[] | undefined): readonly string[] {
  const [seen, setSeen] = useState<readonly string[]>([]);
  if (columns !== undefined && columns !== seen) setSeen(columns);
  return seen;
}

/**
 * The first rows: of stored exports only on demand, because people open settings for other reasons.
 */
function useRows(
  path: PreviewPath,
  if_match: string | undefined,
  { body, is_complete, is_wanted }: { body: NewExport; is_complete: boolean; is_wanted: boolean },
) {
  const [is_asked, setAsked] = useState(false);
  const is_shown = is_complete && (is_wanted || is_asked);
  const live = useLivePreview(path, is_shown ? body : undefined, if_match);
  return { live, ask: is_complete && !is_shown ? () => setAsked(true) : undefined };
}

function Restored({ lost }: { lost: readonly string[] }) {
  return (
    <p className="muted">
      This is what you typed before.
      {lost.length > 0 && ' Secrets are not kept: the fields say which to enter again.'}
    </p>
  );
}

function Discard({ forget, discarded }: { forget: () => void; discarded: () => unknown }) {
  const discard = () => {
    forget();
    discarded();
  };
  return (
    <Button className="after_form" variant="subtle" onClick={discard}>
      Discard what you typed
    </Button>
  );
}

/** Returns the chosen type, without the keys that come from the connection. */
function typeOf(types: DestinationType[], draft: Draft): DestinationType | undefined {
  const chosen = types.find((one) => one.type === draft.type);
  return chosen === undefined || draft.connection_id === '' ? chosen : exportPart(chosen);
}

function useSecretKeys(types: DestinationType[]): (type: string) => string[] {
  return useCallback((name) => types.find(({ type }) => type === name)?.secret_keys ?? [], [types]);
}
