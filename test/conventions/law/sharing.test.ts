import { lawOf } from './law.ts';

lawOf('sharing');
