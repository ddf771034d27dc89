import { lawOf } from './law.ts';

lawOf('services');
