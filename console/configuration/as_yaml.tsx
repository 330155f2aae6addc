import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { KindName } from '../../server/api/managed/schema.ts';
import { Command } from '../page/command.tsx';
import { Seldom } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { useHome } from '../signed_in/home.ts';
import { objectAsFiles } from './configuration.ts';

/** Shows the object as a part of the configuration's files, on demand. */
export function AsYaml({ kind, id }: { kind: KindName; id: string | number }) {
  const { organization_id } = useHome();
  const [is_asked, setAsked] = useState(false);
  return (
    <Seldom summary="As YAML" toggled={() => setAsked(true)}>
      {is_asked && organization_id !== undefined && (
        <Text organization_id={organization_id} kind={kind} id={String(id)} />
      )}
    </Seldom>
  );
}

function Text({
  organization_id,
  kind,
  id,
}: Record<'organization_id' | 'id', string> & { kind: KindName }) {
  return (
    <Shown query={useQuery(objectAsFiles(organization_id, kind, id))}>
      {({ yaml, secrets }) => (
        <>
          <p>
            Copy it into the files of your configuration. The next apply then manages this object.
            {secrets.length > 0 && ' Secrets are variables: set them where you apply.'}
          </p>
          <Command text={yaml.trimEnd()} what="the YAML" />
        </>
      )}
    </Shown>
  );
}
