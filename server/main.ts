import { run } from './cli/commands.ts';

process.exitCode = await run(process.argv);
