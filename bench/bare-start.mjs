// The least that answers HTTP, with the imports that people write. Its start is the measure for that of the daemon.
import { createServer } from 'node:http';

const server = createServer((_request, response) => response.end('{}'));
server.listen(0, '127.0.0.1', () => process.send?.(server.address().port));
process.on('disconnect', () => process.exit());
