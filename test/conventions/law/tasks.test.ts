import { lawOf } from './law.ts';

lawOf('tasks');
