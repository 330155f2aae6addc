/**
 * Loaded into every test file's process. Node's own time-out ends a test, but a file whose tests
 * are over and that still holds a timer, a socket or a child open would be waited for without end:
 * here it is ended, and told what it holds.
 */
import process from 'node:process';

const seconds_max = Number(process.env['SLUICE_TEST_FILE_SECONDS'] ?? '300');

if (process.env['NODE_TEST_CONTEXT'] !== undefined) {
  const end = () => {
    console.error(
      `This test file took longer than ${seconds_max} s. Still open: ` +
        `${process.getActiveResourcesInfo().join(', ') || 'nothing'}.`,
    );
    process.exit(1);
  };
  setTimeout(end, seconds_max * 1000).unref();
}
