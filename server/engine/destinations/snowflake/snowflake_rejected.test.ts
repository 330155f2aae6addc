import { testRejected, testRivals } from '../../../../test/destinations/rejected_contract.ts';
import { openAroundTests, refusing } from '../../../../test/destinations/snowflake_world.ts';

openAroundTests();

testRejected(refusing);
testRivals(refusing);
