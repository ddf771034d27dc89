import { lawOf } from './law.ts';

lawOf('account');
