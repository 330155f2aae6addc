import { TextInput } from '@mantine/core';
import { useState } from 'react';
import type { DestinationType } from '../../server/api/destinations/schema.ts';
import { keysOf } from './config.ts';
import type { Typed } from './config.ts';
import { readConnectionString } from './connection_string.ts';

/** An example of a connection string for each type that has one. */
const examples: Record<string, string> = {
  AzureBlob: 'DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…',
  BigQuery: '{ "type": "service_account", … }',
  ClickHouse: 'clickhouse://user:password@host:8443/database',
  GCS: 'gs://bucket/prefix',
  MySQL: 'mysql://user:password@host:3306/database',
  Postgres: 'postgres://user:password@host:5432/database',
  Redshift: 'redshift://user:password@host:5439/database',
  S3: 's3://bucket/prefix',
  Snowflake: 'snowflake://user:password@account/database/schema?warehouse=…',
};

type Given = {
  /** The types that a string may belong to. */
  types: readonly DestinationType[];
  /** The chosen type; undefined if the string decides. */
  type: DestinationType | undefined;
  fill: (type: string, typed: Typed) => void;
};

/**
 * Accepts a connection string and fills the form's fields: at once after a paste, otherwise by
 * Enter or on blur. The text is never stored, because it may contain a password.
 */
export function PasteField(given: Given) {
  const { type } = given;
  const { text, write, read, fault, told } = usePasted(given);
  if (type !== undefined && examples[type.type] === undefined) return null;
  return (
    <div>
      <TextInput
        label={type === undefined ? 'Or paste a connection string' : 'Paste a connection string'}
        placeholder={examples[type?.type ?? 'Postgres']}
        error={fault === '' ? undefined : fault}
        autoComplete="off"
        spellCheck={false}
        data-unkept=""
        value={text}
        onChange={({ currentTarget }) => write(currentTarget.value)}
        onPaste={(event) => {
          event.preventDefault();
          const pasted = event.clipboardData.getData('text');
          write(pasted);
          read(pasted);
        }}
        onBlur={() => read(text)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || text.trim() === '') return;
          event.preventDefault();
          read(text);
        }}
      />
      <p role="status" className="field_hint">
        {told}
      </p>
    </div>
  );
}

/** The text of the field, its fault, and the filled-in fields. */
function usePasted({ types, type, fill }: Given) {
  const [text, setText] = useState('');
  const [fault, setFault] = useState('');
  const [told, setTold] = useState('');
  const read = (given: string) => {
    if (given.trim() === '') return;
    const found = readConnectionString(given, type?.type ?? '');
    const target = 'type' in found ? types.find((one) => one.type === found.type) : undefined;
    setTold('');
    if ('refusal' in found) setFault(found.refusal);
    else if (target === undefined)
      setFault(`It belongs to ${found.type}, which is no choice here.`);
    else {
      const { typed, left } = fitting(target, found.typed);
      fill(target.type, typed);
      setText('');
      setFault('');
      setTold(toldOf(target, typed, [...left, ...found.unused]));
    }
  };
  const write = (given: string) => {
    setText(given);
    setFault('');
  };
  return { text, write, read, fault, told };
}

/** Splits the values into those for which the type has a field, and the names of the others. */
function fitting(type: DestinationType, values: Typed): { typed: Typed; left: string[] } {
  const known = new Set(keysOf(type).map(([key]) => key));
  const [fields, others] = [true, false].map((is_known) =>
    Object.entries(values).filter(([key]) => known.has(key) === is_known),
  );
  return { typed: Object.fromEntries(fields!), left: others!.map(([key]) => key) };
}

function toldOf(type: DestinationType, typed: Typed, left: string[]): string {
  const titles = keysOf(type)
    .filter(([key]) => key in typed)
    .map(([key, { title = key }]) => title);
  const filled = `Filled in: ${titles.join(', ')}.`;
  return left.length === 0 ? filled : `${filled} Left out: ${left.join(', ')}.`;
}
