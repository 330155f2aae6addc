import { testRejected, testRivals } from '../../../../test/destinations/rejected_contract.ts';
import { RedshiftWorld } from '../../../../test/destinations/redshift_world.ts';

const world = new RedshiftWorld('INSERT');
world.openAroundTests();

testRejected(world.refusing());
testRivals(world.refusing());
