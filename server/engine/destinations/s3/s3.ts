import { randomUUID } from 'node:crypto';
import { runSteps } from '../../../platform/timed_steps.ts';
import { throwIfStopped } from '../../destination.ts';
import type { CheckStep, DestinationDefinition, DestinationDeps } from '../../destination.ts';
import { fileEncoding, fileSliceBytes } from '../../formats/file_config.ts';
import { constantFolder } from '../../formats/naming.ts';
import { readStoredText, verifyFiles } from '../../formats/verify_files.ts';
import { openBucket } from './bucket.ts';
import { s3_config, s3Violations } from './config.ts';
import type { S3Config } from './config.ts';
import { s3Error, withS3Errors } from './faults.ts';
import { openS3Sink } from './sink.ts';

/** Objects in a bucket of AWS S3 or of another store that speaks S3. */
export const s3: DestinationDefinition<typeof s3_config> = {
  type: 'S3',
  label: 'S3',
  config: s3_config,
  secrets: ['aws_access_key_id', 'aws_secret_access_key'],
  column_set: 'files',
  validate: s3Violations,
  encoding: fileEncoding,
  sliceBytes: fileSliceBytes,
  open: async (config, delivery, deps) => {
    throwIfStopped(deps.signal);
    return openS3Sink(openBucket(config, deps.outbound, deps.signal), config, delivery, deps.log);
  },
  check: (config, _columns, deps) => check(config, deps),
  verify: (config, delivered, _source, deps) => {
    const bucket = openBucket(config, deps.outbound, deps.signal);
    const list = (folder: string) => bucket.list(folder === '' ? '' : `${folder}/`, { direct: true });
    return withS3Errors(() => verifyFiles({ read: (name) => withS3Errors(() => bucket.read(name)), list }, delivered));
  },
};

function check(config: S3Config, deps: DestinationDeps): Promise<CheckStep[]> {
  const bucket = openBucket(config, deps.outbound, deps.signal);
  const folder = constantFolder(config.prefix);
  const text = randomUUID();
  const key = `${folder === '' ? '' : `${folder}/`}.sluice-check-${text}`;
  const steps = [
    { name: 'Reach the bucket', run: () => bucket.find().then(() => 'The bucket is there.') },
    { name: 'Write an object', run: () => bucket.put(key, text).then(() => 'An object was written.') },
    {
      name: 'Read it back',
      run: async () => {
        if ((await readStoredText(bucket, key)) !== text) throw new Error('The object holds something else than was written.');
        return 'The same text came back.';
      },
    },
    { name: 'Remove it', run: () => bucket.remove(key).then(() => 'The object is gone again.') },
  ];
  return runSteps(steps, (error) => {
    deps.log.info({ err: error }, 'connection test failed');
    const explained = s3Error(error);
    return explained instanceof Error ? explained.message : 'The store refused it.';
  });
}
