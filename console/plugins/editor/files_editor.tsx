import { Button, FileInput, Tabs, TextInput, Textarea } from '@mantine/core';
import { Suspense, useMemo, useState } from 'react';
import { loadedLater } from '../../page/load_page.tsx';
import { Seldom } from '../../page/section.tsx';
import type { Given } from './code_editor.tsx';
import type { Files } from './draft.ts';
import type { CodeFault } from './fault_place.ts';
import type { ApiName } from './plugin_api.ts';

const Editor = loadedLater(() => import('./code_editor.tsx'), 'CodeEditor', PlainEditor);

/** The files of a plugin, one at a time. */
export function FilesEditor({
  files,
  faults,
  names,
  write,
}: {
  files: Files;
  faults: readonly CodeFault[];
  names: readonly ApiName[];
  /** Undefined if the files are read-only. */
  write: ((files: Files) => void) | undefined;
}) {
  const all = Object.keys(files);
  const [chosen, choose] = useState<string>();
  const open = all.find((name) => name === chosen) ?? all.find(isCode) ?? all[0];
  return (
    <>
      {open !== undefined && (
        <Tabs value={open} onChange={(name) => choose(name ?? undefined)} keepMounted={false}>
          <Tabs.List aria-label="Files">
            {all.map((name) => (
              <Tabs.Tab key={name} value={name}>
                {name}
                {faults.some(({ file }) => file === name) && <span className="bad"> ✕</span>}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {all.map((name) => (
            <Tabs.Panel key={name} value={name}>
              <OpenFile
                name={name}
                text={files[name]!}
                faults={faults}
                names={names}
                change={write && ((text) => write({ ...files, [name]: text }))}
              />
            </Tabs.Panel>
          ))}
        </Tabs>
      )}
      {write !== undefined && <FileList files={files} open={open} write={write} choose={choose} />}
    </>
  );
}

const isCode = (name: string) => /^(?:index|site|frontend)\.[jt]sx?$/.test(name);

function OpenFile({
  name,
  text,
  faults,
  names,
  change,
}: {
  name: string;
  text: string;
  faults: readonly CodeFault[];
  names: readonly ApiName[];
  change: ((text: string) => void) | undefined;
}) {
  const own = useMemo(() => faults.filter(({ file }) => file === name), [faults, name]);
  const given = {
    value: text,
    label: `Code of ${name}`,
    is_read_only: change === undefined,
    faults: own,
    names,
    change: (next: string) => change?.(next),
  };
  return (
    <>
      <Suspense fallback={<PlainEditor {...given} />}>
        <Editor {...given} />
      </Suspense>
      <div role="status">
        {own.map(({ line, column, message }) => (
          <p className="fault" key={`${line}.${column} ${message}`}>
            Line {line}, column {column}: {message}
          </p>
        ))}
      </div>
    </>
  );
}

/** A plain text field until the editor is loaded, or if it cannot be loaded. */
function PlainEditor({ value, label, is_read_only, change }: Given) {
  return (
    <Textarea
      aria-label={label}
      value={value}
      readOnly={is_read_only}
      rows={16}
      spellCheck={false}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}

/** Adds files, also from this machine, and removes the open one. */
function FileList({
  files,
  open,
  write,
  choose,
}: {
  files: Files;
  open: string | undefined;
  write: (files: Files) => void;
  choose: (name: string) => void;
}) {
  const [name, setName] = useState('');
  const is_free = name !== '' && !Object.hasOwn(files, name);
  return (
    <Seldom summary="Add or remove files">
      <div className="form">
        <TextInput
          label="Name of a new file"
          value={name}
          spellCheck={false}
          autoComplete="off"
          onChange={({ currentTarget }) => setName(currentTarget.value.trim())}
        />
        <Button
          disabled={!is_free}
          onClick={() => {
            write({ ...files, [name]: '' });
            choose(name);
            setName('');
          }}
        >
          Add file
        </Button>
        <FileInput
          label="Files from this machine"
          description="They replace files of the same names. Save stores them."
          placeholder="Choose files"
          multiple
          value={[]}
          onChange={(list) => void readAll(list).then((read) => write({ ...files, ...read }))}
        />
        {open !== undefined && (
          <Button
            onClick={() => {
              const { [open]: _gone, ...rest } = files;
              write(rest);
            }}
          >
            Remove {open}
          </Button>
        )}
      </div>
    </Seldom>
  );
}

async function readAll(list: File[]): Promise<Files> {
  const read = await Promise.all(list.map(async (file) => [file.name, await file.text()] as const));
  return Object.fromEntries(read);
}
