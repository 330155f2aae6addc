import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PluginDifferences, PluginRow } from '../../server/api/plugins/schema.ts';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { ask } from '../http/ask.ts';
import { etagOf } from '../http/reading.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { BusyButton } from '../page/busy_button.tsx';
import { Panel } from '../page/panel.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Refusal } from '../page/shown.tsx';
import { LineChanges } from './line_changes.tsx';
import { isOwnCode, readsOfPlugin, sourceOf } from './plugins.ts';
import type { Place } from './plugins.ts';
import { pathTo } from '../http/path.ts';

type Given = { plugin: PluginRow; place: Place; config_id: number | undefined };
/** Another version with its changes, as shown before the installation. */
type Plan = { way: 'upgrade' | 'rollback'; changes: PluginDifferences };

/** The installed version, the versions to switch to, and the changes of each. */
export function VersionSection(given: Given) {
  const { organization_id, collection } = given.place;
  const { data, error } = useQuery(sourceOf(organization_id, collection, String(given.plugin.id)));
  // Unreadable files are a reason to roll back.
  const goes_back = data?.has_previous_version ?? error !== null;
  if (isOwnCode(given.plugin) && !goes_back) return undefined;
  return (
    <Section title="Version">
      <OnlyFor organization_id={organization_id}>
        <Versions {...given} goes_back={goes_back} />
      </OnlyFor>
    </Section>
  );
}

function Versions({ plugin, place, config_id, goes_back }: Given & { goes_back: boolean }) {
  const [plan, setPlan] = useState<Plan>();
  const done = useDone();
  const id = String(plugin.id);
  const changed = readsOfPlugin(place, plugin.id, config_id);
  const common = { place, id, planned: setPlan };
  const isPackage = !isOwnCode(plugin);
  return (
    <>
      {plan !== undefined && (
        <Panel key={JSON.stringify(plan)}>
          <Planned
            plan={plan}
            place={place}
            id={id}
            etag={etagOf(plugin)}
            done={async (changes) => {
              setPlan(undefined);
              await done(`Version ${changes.to_tag ?? 'without a name'} is installed.`, ...changed);
            }}
            close={() => setPlan(undefined)}
          />
        </Panel>
      )}
      {isPackage && <Latest plugin={plugin} place={place} read={changed[0]} />}
      {isPackage && (
        <Look {...common} way="upgrade" button="Show what an upgrade changes">
          <TextField
            name="tag"
            label="Version"
            hint="Empty: the newest."
            inputMode="text"
            is_optional
          />
        </Look>
      )}
      {goes_back && (
        <Seldom summary="Go back to the previous code">
          <p>A second time returns to the present code.</p>
          <Look
            // The key changes with the version, because answers about the old version no longer
            // apply.
            key={etagOf(plugin)}
            {...common}
            way="rollback"
            button="Show what going back changes"
          />
        </Seldom>
      )}
    </>
  );
}

/** Shows the installed version and the newest known one; a button asks the origin. */
function Latest({
  plugin: { id, tag, latest_tag },
  place: { organization_id, collection },
  read,
}: {
  plugin: PluginRow;
  place: Place;
  read: { queryKey: string[] };
}) {
  const done = useDone();
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const outcome = await ask(
        'GET',
        pathTo(`/api/organizations/:organization_id/${collection}/:id/check_for_updates/`, {
          organization_id,
          id,
        }),
      );
      if (!outcome.ok) throw outcome.problem;
      const { tag: own, latest_tag: latest } = outcome.body;
      await done(latest === own ? 'This is the newest version.' : `${latest} is there.`, read);
    },
  });
  return (
    <>
      <p>
        {tag === null || tag === '' ? 'Its version has no name' : `Version ${tag}`}
        {latest_tag !== null && latest_tag !== tag && (
          <span className="warn">; {latest_tag} is there</span>
        )}
        .
      </p>
      {error !== null && <Refusal problem={error} title="The origin did not answer" />}
      <BusyButton
        size="compact-sm"
        mb="md"
        className="as_text"
        is_busy={isPending}
        press={() => mutate()}
      >
        Look for a newer one
      </BusyButton>
    </>
  );
}

function wayPath(
  { organization_id, collection }: Place,
  id: string,
  way: Plan['way'],
  query?: { validate_only: boolean },
) {
  const ids = { organization_id, id };
  return pathTo(`/api/organizations/:organization_id/${collection}/:id/${way}/`, ids, query);
}

/** Shows the changes of a switch. It changes nothing, so it may use the current state. */
function Look({
  place,
  id,
  way,
  button,
  planned,
  children,
}: {
  place: Place;
  id: string;
  way: Plan['way'];
  button: string;
  planned: (plan: Plan) => void;
  children?: React.ReactNode;
}) {
  return (
    <Form
      path={wayPath(place, id, way, { validate_only: true })}
      body={({ tag }) => (tag === undefined ? {} : { tag: String(tag) })}
      done={({ changes }) => planned({ way, changes })}
      button={button}
      tone="plain"
    >
      {children}
    </Form>
  );
}

function Planned({
  plan: { way, changes },
  place,
  id,
  etag,
  done,
  close,
}: {
  plan: Plan;
  place: Place;
  id: string;
  etag: string | undefined;
  done: (changes: PluginDifferences) => unknown;
  close: () => void;
}) {
  const { from_tag, to_tag, incomplete_configs: incomplete } = changes;
  const rows = rowsOf(changes);
  const name = to_tag ?? 'the code before';
  return (
    <>
      <h3>
        {from_tag ?? 'installed version'} → {name}
      </h3>
      {rows.length === 0 ? (
        <p>Nothing changes: this version is installed.</p>
      ) : (
        <dl className="differences">
          {rows.map(({ what, kind, names }) => (
            <div key={`${what} ${kind}`}>
              <dt>
                {what} {words[kind]}
              </dt>
              <dd className={tones[kind]}>
                <bdi>{names.join(', ')}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <LineChanges changes={changes} />
      {incomplete > 0 && <p className="warn">{misfitOf(incomplete)}</p>}
      {rows.length > 0 && (
        <Form
          path={wayPath(place, id, way)}
          body={() => (way === 'upgrade' ? { tag: to_tag ?? undefined } : {})}
          if_match={etag}
          done={(answer) => done(answer.changes)}
          button={way === 'upgrade' ? `Install ${name}` : `Go back to ${name}`}
        />
      )}
      <Button size="compact-sm" variant="subtle" mt="xs" onClick={close}>
        Cancel
      </Button>
    </>
  );
}

function misfitOf(count: number): string {
  const projects = count === 1 ? 'one project that uses it' : `${count} projects that use it`;
  return (
    `The settings of ${projects} do not fit that version; ` +
    'the page of the plugin there says why.'
  );
}

type Kind = 'added' | 'removed' | 'changed';
const words: Record<Kind, string> = {
  added: 'that come',
  removed: 'that go',
  changed: 'that change',
};
const tones: Record<Kind, string> = { added: 'good', removed: 'bad', changed: '' };

function rowsOf({ files, config_fields, capabilities }: PluginDifferences) {
  const parts: [string, Partial<Record<Kind, string[]>>][] = [
    ['Files', files],
    ['Settings', config_fields],
    ['Abilities', capabilities],
  ];
  const kinds: Kind[] = ['added', 'removed', 'changed'];
  return parts.flatMap(([what, lists]) =>
    kinds
      .map((kind) => ({ what, kind, names: lists[kind] ?? [] }))
      .filter(({ names }) => names.length > 0),
  );
}
