// Runs in the process of Prisma Studio, before Prisma's program.
import { subscribe } from 'node:diagnostics_channel'

// The page requests news from https://checkpoint.prisma.io and sends data about the machine. No setting
// disables that, so this policy allows connections to Studio only.
const CONTENT_SECURITY_POLICY = "connect-src 'self'"

subscribe('http.server.request.start', ({ response }) =>
  response.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY),
)

// The parent command has ended. The channel to it does not keep this process alive.
process.once('disconnect', () => process.exit())
process.channel?.unref()
