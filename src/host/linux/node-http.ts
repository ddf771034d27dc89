/**
 * Node's HTTP module. An import of it makes Node load everything that the module offers, among it a WebSocket client,
 * which takes a tenth of a second of each start on a small machine; this way does not.
 */
export const http = process.getBuiltinModule('node:http');
