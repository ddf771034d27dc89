import { lawOf } from './law.ts';

lawOf('directoryservice');
