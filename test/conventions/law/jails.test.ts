import { lawOf } from './law.ts';

lawOf('jails');
