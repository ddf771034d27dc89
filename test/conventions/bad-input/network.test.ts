import { badInputTo } from './bad-input.ts';

badInputTo('network');
