import { expect, test } from 'vitest'
import { Watchdog } from './watchdog.js'

const forever = new Promise<never>(() => undefined)

test('a storm that hangs fails, and names the parts that have not ended with their steps', async () => {
  const watchdog = new Watchdog()
  void watchdog.run('imports', note => {
    note('closes the database')
    return forever
  })
  await watchdog.run('writer 1', async () => undefined)
  const fault = await watchdog.watch(() => true, 50).catch(String)
  expect(fault).toMatch(/have not: imports \(closes the database, for \d+ s\)\. Resources: /)
})

test('parts may run as long as the storm does', async () => {
  const watchdog = new Watchdog()
  void watchdog.run('faults', () => forever)
  let checks = 0
  const watched = watchdog.watch(() => ++checks > 5, 20)
  await expect(watched).rejects.toThrow('faults')
  expect(checks).toBeGreaterThan(5)
})
