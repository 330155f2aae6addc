import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import { s3Contract } from '../../../../test/destinations/s3_contract.ts';
import { base, deps, openAroundTests } from '../../../../test/destinations/s3_world.ts';

const opened = openAroundTests();

testDestination(
  s3Contract({
    start: () => opened().then(() => deps),
    stop: async () => undefined,
    base: () => base,
  }),
);
