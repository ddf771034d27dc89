import { lawOf } from './law.ts';

lawOf('storage', { except: 'storage/volume' });
