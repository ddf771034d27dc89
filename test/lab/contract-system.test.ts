import { contractHolds } from '../support/lab/contract.ts';

contractHolds('system');
