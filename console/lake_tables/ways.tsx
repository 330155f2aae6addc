import { Tabs } from '@mantine/core';
import type { LakeTableDetails } from '../../server/api/lake_tables/schema.ts';
import { server_address } from '../http/address.ts';
import { Command } from '../page/command.tsx';
import { KeyNote } from './key_note.tsx';
import { readWays } from './read_ways.ts';

/** Shows how each reader opens the table, and the tested versions. */
export function Ways({ table, project_id }: { table: LakeTableDetails; project_id: string }) {
  const uri = `${server_address}/iceberg`;
  const ways = readWays({ ...table, uri, project_id });
  return (
    <>
      <p>
        <KeyNote />
        {table.location.startsWith('file:') &&
          ' The files are in the export folder of this server: the reader must find them at the ' +
            'same path.'}
      </p>
      <Tabs defaultValue={ways[0]!.reader} keepMounted={false}>
        <Tabs.List aria-label="Readers">
          {ways.map(({ reader }) => (
            <Tabs.Tab key={reader} value={reader}>
              {reader}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {ways.map(({ reader, text, tried }) => (
          <Tabs.Panel key={reader} value={reader}>
            <Command text={text} what={`Read it with ${reader}`} />
            <p className="muted">{tried}</p>
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
