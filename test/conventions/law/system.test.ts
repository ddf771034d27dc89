import { lawOf } from './law.ts';

lawOf('system');
