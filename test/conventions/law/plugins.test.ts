import { lawOf } from './law.ts';

lawOf('plugins');
