import { randomUUID } from 'node:crypto';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { openContent } from '../../../platform/folders/folders.ts';
import { runSteps } from '../../model/destination/timed_steps.ts';
import type {
  CheckStep,
  ConfigViolation,
  DestinationDefinition,
} from '../../model/destination/destination.ts';
import {
  placed_file_keys,
  fileColumnFaults,
  fileEncoding,
  fileSliceBytes,
  fileViolations,
  partitionKeys,
  prefixKey,
} from '../formats/file_config.ts';
import { heldReceipts } from '../formats/held_receipts.ts';
import type { ReceiptStore } from '../formats/held_receipts.ts';
import { constantFolder, folderPart } from '../formats/naming.ts';
import { sealFiles } from '../formats/file_seals.ts';
import type { FileFacts, FileStore } from '../formats/file_store.ts';
import { findForeignFiles } from '../formats/foreign_files.ts';
import { compareFiles, verifyFiles } from '../formats/verify_files.ts';
import type { LakePlace } from '../lake/place.ts';
import { dotViolations } from '../object_store/config_rules.ts';
import { fileError, withFileErrors } from './faults.ts';
import {
  createFile,
  createFolder,
  filesBelow,
  findInside,
  removeAll,
  removeFolders,
  replaceFile,
} from './folder.ts';
import { openFileSink } from './sink.ts';
import { violation } from '../../model/destination/violation.ts';

const config = Type.Object(
  {
    prefix: prefixKey("A folder inside the server's export folder (SLUICE_EXPORT_DIR)."),
    ...placed_file_keys,
  },
  { additionalProperties: false },
);

type Config = Static<typeof config>;

/** Files in the server's own export folder. */
export const file: DestinationDefinition<typeof config> = {
  type: 'File',
  label: 'Files on the server',
  config,
  secrets: [],
  where: [],
  column_set: 'files',
  erases: 'anew',
  validate: violations,
  encoding: fileEncoding,
  sliceBytes: fileSliceBytes,
  partitionKeys,
  columnFaults: fileColumnFaults,
  open: async (given, delivery, deps) => openFileSink(given, delivery, deps.export_dir),
  check: (given, _columns, deps) => check(given, deps.export_dir),
  verify: (config, delivered, source, deps) =>
    verifyFiles(storeOf(deps.export_dir), fileEncoding(config), delivered, source),
  verify_parts: {
    compare: (config, delivered, source, deps) =>
      compareFiles(storeOf(deps.export_dir), fileEncoding(config), delivered, source),
    findForeign: (_config, accounted, deps) =>
      findForeignFiles(storeOf(deps.export_dir), accounted),
  },
  seals: (_config, delivered, _source, deps) => sealFiles(storeOf(deps.export_dir), delivered),
  receipts: (given, deps, wanted) => heldReceipts(storeOf(deps.export_dir), given.prefix, wanted),
};

/** A place for tables in the export folder. */
export const file_place: LakePlace = {
  definition: file,
  openFiles: async (_config, { export_dir }) => ({
    put: (name, content) =>
      withFileErrors(async () => replaceFile(await pathOf(export_dir, name), content)),
    putNew: (name, content) =>
      withFileErrors(async () => createFile(await pathOf(export_dir, name), content)),
    read: (name) => withFileErrors(() => storeOf(export_dir).read(name)),
    list: (folder) => storeOf(export_dir).list(folder),
    remove: (name) =>
      withFileErrors(async () => {
        const path = await findInside(export_dir, name);
        if (path !== undefined) await removeAll([path]);
      }),
    listAll: (folder) => storeOf(export_dir).listAll(folder),
    writtenAt: (name) =>
      withFileErrors(async () => {
        const path = await findInside(export_dir, name);
        return path === undefined ? undefined : (await stat(path)).mtimeMs;
      }),
  }),
  folder: (team_id) => `lake/${team_id}`,
  root: (_config, { export_dir }) => `file://${resolve(export_dir)}/`,
};

/** Returns the path of a file in the export folder, and creates its folder. */
async function pathOf(export_dir: string, name: string): Promise<string> {
  return join(await createFolder(export_dir, folderPart(name)), basename(name));
}

function violations(given: Config): ConfigViolation[] {
  const found = fileViolations(given);
  if (given.prefix.startsWith('/'))
    found.push(
      violation(
        'prefix',
        'The prefix must be relative to the export folder: remove the slash at its beginning.',
      ),
    );
  return [...found, ...dotViolations(given.prefix)];
}

async function check(given: Config, exportDir: string): Promise<CheckStep[]> {
  const text = randomUUID();
  const created: string[] = [];
  let path = '';
  const steps = [
    {
      name: 'Open the folder',
      run: async () => {
        path = join(
          await createFolder(exportDir, constantFolder(given.prefix), created),
          `.check-${text}.tmp`,
        );
        return 'The folder exists.';
      },
    },
    {
      name: 'Write a file',
      run: () => writeFile(path, text, { flush: true }).then(() => 'A file was written.'),
    },
    {
      name: 'Read it back',
      run: async () => {
        if ((await readFile(path, 'utf8')) !== text)
          throw new Error('The file has changed since the delivery.');
        return 'The same text came back.';
      },
    },
    {
      name: 'Remove it',
      run: async () => {
        await rm(path);
        await removeFolders(created);
        return 'The file is gone again.';
      },
    },
  ];
  try {
    return await runSteps(steps, {}, (error) => explain(fileError(error)));
  } finally {
    // A failed test leaves no file either, as far as the file system allows.
    if (path !== '') await rm(path, { force: true }).catch(() => undefined);
    await removeFolders(created).catch(() => undefined);
  }
}

function explain(error: unknown): string {
  return error instanceof Error && !('syscall' in error)
    ? error.message
    : 'The file system refused it; the server log says more.';
}

/**
 * Returns the number of the file and the instants of its changes, which no program can set, to the
 * ns.
 */
async function factsOf(path: string): Promise<FileFacts> {
  const { size, ino, ctimeNs } = await stat(path, { bigint: true });
  return { bytes: Number(size), tag: `${ino} ${ctimeNs}` };
}

function storeOf(root: string): FileStore & ReceiptStore {
  const list = async function* (folder: string, direct: boolean): AsyncGenerator<string> {
    const path = await findInside(root, folder);
    if (path !== undefined) yield* filesBelow(path, folder, { direct });
  };
  return {
    read: async (name) => {
      const path = await findInside(root, name);
      return path === undefined ? undefined : openContent(path);
    },
    describe: async (name) => {
      const path = await findInside(root, name);
      return path === undefined ? undefined : factsOf(path);
    },
    list: (folder) => list(folder, true),
    listAll: (folder) => list(folder, false),
  };
}
