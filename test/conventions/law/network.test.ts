import { lawOf } from './law.ts';

lawOf('network');
