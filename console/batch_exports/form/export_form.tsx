import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useContext, useMemo, useRef, useState } from 'react';
import type { ChangeEffect } from '../../../server/api/batch_exports/drafts/schema.ts';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { Form } from '../../form/form.tsx';
import { askForChange } from '../../http/change.ts';
import type { Problem } from '../../http/problem.ts';
import { Dialog } from '../../page/dialog.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { exportPart } from '../../destinations/config.ts';
import { bodyOf, shown_keys } from './draft.ts';
import type { Base, Draft, NewExport } from './draft.ts';
import { ExportFields } from './export_fields.tsx';
import { useKeptDraft } from './kept_draft.ts';
import { Trial } from './trial.tsx';
import './form.css';
import { pathTo } from '../../http/path.ts';

type Given = {
  project_id: string;
  types: DestinationType[];
  /** The export that is changed; undefined for a new one. */
  export_id?: string;
  base: Base | undefined;
  /** The keys of its config with a stored secret. */
  stored_secrets?: readonly string[];
  etag: string | undefined;
  saved: (created: BatchExport) => Promise<unknown>;
  /** Called after everything that was typed was thrown away. */
  discarded: () => unknown;
};

/**
 * Creates or changes an export. Typed values stay until they are saved or discarded; a change that
 * restarts the export is named and counted, and saved once it is accepted.
 */
export function ExportForm({ base, etag, saved, discarded, ...of }: Given) {
  const { types, project_id, export_id, stored_secrets = [] } = of;
  const paths = pathsOf(project_id, export_id);
  const secret_keys = useSecretKeys(types);
  const kept = useKeptDraft(paths.sent, base, etag, secret_keys);
  const { draft } = kept;
  const type = useMemo(() => typeOf(types, draft), [types, draft]);
  const [refusal, setRefusal] = useState<Problem | null>();
  const { asked, confirm, answer } = useEffectAsked(paths.effect, kept.etag, setRefusal);
  const zone = useContext(ZoneContext);
  const body = () => bodyOf(draft, kept.base, type, zone);
  // The accepted fields are sent, whatever is typed meanwhile.
  const accepted = useRef({} as NewExport);
  const is_new = kept.base === undefined;
  return (
    <>
      {kept.is_restored && <Restored lost={kept.lost} />}
      <Form
        method={is_new ? 'POST' : 'PATCH'}
        path={paths.sent}
        body={() => accepted.current}
        if_match={kept.etag}
        part={null}
        later={refusal}
        takeUp={kept.takeUp}
        confirm={async () => {
          setRefusal(undefined);
          accepted.current = body();
          return confirm(accepted.current);
        }}
        done={async (created) => {
          kept.forget();
          await saved(created);
        }}
        button={is_new ? 'Create the export' : 'Save the changes'}
      >
        <ExportFields
          {...of}
          draft={draft}
          lost={kept.lost}
          base={kept.base}
          stored_secrets={stored_secrets}
          type={type}
          change={kept.change}
          set={kept.type}
        />
        <Trial
          test={paths.test}
          preview={paths.preview}
          // A test needs no name yet.
          body={() => (is_new && draft.name.trim() === '' ? { ...body(), name: 'A test' } : body())}
          if_match={kept.etag}
          refused={setRefusal}
        />
      </Form>
      {kept.is_touched && <Discard forget={kept.forget} discarded={discarded} />}
      {asked !== undefined && <Effect effect={asked} answer={answer} />}
    </>
  );
}

/**
 * Returns the paths of a new export, or of the one with the id: to send, to try, and to forecast a
 * change.
 */
function pathsOf(project_id: string, id: string | undefined) {
  if (id === undefined)
    return {
      sent: pathTo('/api/projects/:project_id/batch_exports/', { project_id }),
      test: pathTo('/api/projects/:project_id/batch_exports/test/', { project_id }),
      preview: pathTo('/api/projects/:project_id/batch_exports/preview/', { project_id }),
      effect: undefined,
    };
  const ids = { project_id, id };
  return {
    sent: pathTo('/api/projects/:project_id/batch_exports/:id/', ids),
    test: pathTo('/api/projects/:project_id/batch_exports/:id/test/', ids),
    preview: pathTo('/api/projects/:project_id/batch_exports/:id/preview/', ids),
    effect: pathTo('/api/projects/:project_id/batch_exports/:id/effect/', ids),
  };
}

/** Asks before a change is saved what it means, where it means that the export starts anew. */
function useEffectAsked(
  path: ReturnType<typeof pathsOf>['effect'],
  if_match: string | undefined,
  refused: (problem: Problem) => void,
) {
  const queries = useQueryClient();
  const [asked, setAsked] = useState<{ effect: ChangeEffect; resolve: (yes: boolean) => void }>();
  const confirm = async (body: NewExport): Promise<boolean> => {
    if (path === undefined) return true;
    const outcome = await askForChange(queries, 'POST', path, { body, if_match }, shown_keys);
    if (!outcome.ok) {
      refused(outcome.problem);
      return false;
    }
    if (!outcome.body.starts_anew) return true;
    return new Promise((resolve) => setAsked({ effect: outcome.body, resolve }));
  };
  const answer = (yes: boolean) => {
    asked?.resolve(yes);
    setAsked(undefined);
  };
  return { asked: asked?.effect, confirm, answer };
}

function Effect({ effect, answer }: { effect: ChangeEffect; answer: (yes: boolean) => void }) {
  return (
    <Dialog title="This restarts the export" close={() => answer(false)}>
      <p>{effect.detail}</p>
      <div className="toolbar">
        <Button variant="default" onClick={() => answer(false)}>
          Back to the form
        </Button>
        <Button variant="default" className="danger" onClick={() => answer(true)}>
          Save and restart
        </Button>
      </div>
    </Dialog>
  );
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

/** The chosen type, with a connection without the keys that come from there. */
function typeOf(types: DestinationType[], draft: Draft): DestinationType | undefined {
  const chosen = types.find((one) => one.type === draft.type);
  return chosen === undefined || draft.connection_id === '' ? chosen : exportPart(chosen);
}

function useSecretKeys(types: DestinationType[]): (type: string) => string[] {
  return useCallback((name) => types.find(({ type }) => type === name)?.secret_keys ?? [], [types]);
}
