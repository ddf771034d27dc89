import { lawOf } from './law.ts';

lawOf('storage/volume');
