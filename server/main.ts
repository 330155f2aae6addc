import { run } from './cli/commands.ts';
import { endureLostOutput } from './cli/process/lost_output.ts';

endureLostOutput();
process.exitCode = await run(process.argv);
