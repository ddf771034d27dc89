import { badInputTo } from './bad-input.ts';

badInputTo('account');
