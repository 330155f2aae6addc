/**
 * Runs `work` with these variables in place of the process's AWS credentials. The AWS SDK reads
 * them, as an operator sets them.
 */
export async function withVariables<Result>(
  set: Record<string, string>,
  work: () => Promise<Result>,
): Promise<Result> {
  const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', ...Object.keys(set)];
  const kept = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) delete process.env[name];
  Object.assign(process.env, set);
  try {
    return await work();
  } finally {
    for (const [name, value] of kept)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
}
