// Runs in the process of Prisma Studio, before the program of Prisma.
import { subscribe } from 'node:diagnostics_channel'

// The page asks a server of its vendor for news when it opens (https://checkpoint.prisma.io), and sends with the
// question what it knows of the machine. No setting stops that, so the browser is told to connect to Studio only.
const CONTENT_SECURITY_POLICY = "connect-src 'self'"

subscribe('http.server.request.start', ({ response }) =>
  response.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY),
)

// The command that started this process has ended, however it did. The channel to it keeps nothing running.
process.once('disconnect', () => process.exit())
process.channel?.unref()
